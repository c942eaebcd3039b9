/** A tool: what a model reads of it, what it takes, and what it does with the contract. */

import { z } from 'zod'
import type { OperationId } from '../../spec/client/api.ts'
import { charsOf } from './answer.ts'
import type { Session } from './session.ts'

export interface Tool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly input: z.ZodObject
  /** Only tokens that write have it. */
  readonly writes: boolean
  /** Whether the same call again changes nothing more; default: what reads. */
  readonly isIdempotent?: boolean
  /** What it may ask, the first in any case: rights, limits and checks are those of these operations. */
  readonly operations: readonly [OperationId, ...OperationId[]]
  /** The answer. Throws what the contract throws, and ToolError. */
  run(session: Session, input: unknown): Promise<string>
  /** What of the input the contract calls so. */
  where?(input: unknown, loc: readonly (string | number)[]): string
}

interface Given<S extends z.ZodObject> extends Omit<Tool, 'input' | 'run' | 'where'> {
  readonly input: S
  run(session: Session, input: z.infer<S>): Promise<string>
  where?(input: z.infer<S>, loc: readonly (string | number)[]): string
}

/** The library hands on what it has checked by `input`. */
export function tool<S extends z.ZodObject>(given: Given<S>): Tool {
  return given as unknown as Tool // of one schema each, told apart by name
}

const id = z.string().regex(/^[\da-fA-F]{8}(?:-[\da-fA-F]{4}){3}-[\da-fA-F]{12}$/, 'Not a UUID')

export const orgId = id.describe('The organisation, from list_organisations')
export const nodeId = id.describe('The node, from search, list_nodes or neighbours')
export const anyNodeId = id
export const revision = z.string().min(1).max(200)
export const branch = revision.describe(
  'A branch, a Git tag or a whole commit id; of a source grove://organisation/node@commit what follows the @; default: main',
)
export const offset = z.int().min(0).max(1_000_000_000).default(0).describe('How many to skip')
export const commitId = z.string().regex(/^[\da-f]{40}$/, 'Not a commit id')

export function pageOf(most: number) {
  return z.int().min(1).max(most).default(most).describe('How many at most')
}

export const maxChars = z
  .int()
  .min(charsOf.least)
  .max(charsOf.most)
  .default(charsOf.default)
  .describe('The longest answer, in characters')
