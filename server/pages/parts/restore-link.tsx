/** Links to the form that restores an earlier version, for visitors who may use it. */

import type { Api } from '../../../spec/client/api.ts'
import { AppError } from '../../base/errors.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import type { PageContext } from '../page-context.ts'
import type { AtNode } from './node-head.tsx'
import { mayWrite } from './rights.ts'

/** A branch whose earlier versions the visitor may restore. */
export interface Restorable {
  readonly branch: string
  /** The current version. */
  readonly head: string
}

/** Returns the branch with this name. Undefined if there is none, or the visitor may not write. */
export async function findRestorable(
  { api }: Pick<PageContext, 'api'>,
  { path, org, node }: AtNode,
  branch: string,
): Promise<Restorable | undefined> {
  if (!mayWrite(org.role)) return undefined
  if (branch === 'main') return node.head === undefined ? undefined : { branch, head: node.head }
  const found = await unlessMissing(api.getBranch({ path: { ...path, branch } }))
  return found && { branch, head: found.head }
}

/** Reads a commit of main; undefined if main does not have it. */
export async function findOnMain(
  api: Api,
  { path, node }: Pick<AtNode, 'path' | 'node'>,
  commit_id: string,
): Promise<AnswerOf<'getCommit'> | undefined> {
  if (node.head === undefined) return undefined
  return unlessMissing(api.getCommit({ path: { ...path, branch: 'main', commit_id } }))
}

async function unlessMissing<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found
  } catch (error) {
    const isMissing = error instanceof AppError && ['branch_not_found', 'commit_not_found'].includes(error.code)
    if (isMissing) return undefined
    throw error
  }
}

interface RestoreLinkProps {
  readonly href: string
  /** The message of the version, for readers of screens in a list. */
  readonly of?: string
  readonly isButton?: boolean
}

export function RestoreLink({ href, of, isButton = false }: RestoreLinkProps) {
  return (
    <a class={isButton ? 'btn small' : 'restore'} href={href} aria-label={of && `Restore this version: ${of}`}>
      Restore this version
    </a>
  )
}
