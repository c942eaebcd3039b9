/** A tool: its description for models, its input, and its calls of the API. */

import { z } from 'zod'
import type { OperationId } from '../../spec/client/api.ts'
import { charsOf } from './answer.ts'
import type { Access, Session } from './session.ts'

export interface Tool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly input: z.ZodObject
  /** The access of tokens that have it. */
  readonly access: Access
  /** True if repeating the call changes nothing more. Default: true for tools that only read. */
  readonly isIdempotent?: boolean
  /** The operations that it may call, always the first one. Their rights, limits and checks apply. */
  readonly operations: readonly [OperationId, ...OperationId[]]
  /** Returns the answer. @throws the errors of the API; ToolError */
  run(session: Session, input: unknown): Promise<string>
  /** Returns the part of the input that the API names by this `loc`. */
  where?(input: unknown, loc: readonly (string | number)[]): string
}

interface Given<S extends z.ZodObject> extends Omit<Tool, 'input' | 'run' | 'where'> {
  readonly input: S
  run(session: Session, input: z.infer<S>): Promise<string>
  where?(input: z.infer<S>, loc: readonly (string | number)[]): string
}

/** Declares a tool. The library passes input to `run` only after it has checked it against `input`. */
export function tool<S extends z.ZodObject>(given: Given<S>): Tool {
  return given as unknown as Tool // each tool has its own schema and is found by name
}

const uuid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i

/** An id, and the tools that list such ids. The list of tools has neither a pattern nor a description of each id. */
function idFrom(tools: string) {
  const error = ({ input }: { readonly input?: unknown }) =>
    `${input === undefined ? 'Required' : 'Not a UUID'}: get the id from ${tools}`
  return z.string({ error }).refine((text) => uuid.test(text), { error })
}

/** Largest file in characters. The message that holds it has at most 1 MiB. */
export const mostContent = 1_048_576

export const orgId = idFrom('list_organisations')
export const nodeId = idFrom('search, list_nodes or neighbours')
export const revision = z.string().min(1).max(200)
export const branch = revision.describe('A branch, a tag or a full commit id. Default: main')
export const offset = z.int().min(0).max(1_000_000_000).default(0)
export const proposalNumber = z.int().min(1).max(999_999_999)

export const entryNumber = z.int().min(1).max(999_999_999)
export const commitId = z.string().regex(/^[\da-f]{40}$/, 'Not a commit id')

export const connectionType = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,63}$/, 'Use up to 64 lower-case letters, digits and _, starting with a letter')
export const typeName = z.string().regex(/^[a-z][a-z0-9_-]{0,63}$/, 'Not the name of a type')

/** Properties by name. zod would leave out `__proto__` without a word, so it is refused. */
export const properties = z.preprocess(
  (value, { addIssue }) => {
    if (typeof value === 'object' && value !== null && Object.hasOwn(value, '__proto__'))
      addIssue('`__proto__` cannot be set by this tool')
    return value
  },
  z.record(z.string(), z.unknown()),
)

export function pageOf(most: number) {
  return z.int().min(1).max(most).default(most)
}

export const maxChars = z.int().min(charsOf.least).max(charsOf.most).default(charsOf.default)
