/** Saves or proposes changes of a node's files. They start from the version that the visitor saw. */

import type { Api } from '../../spec/client/api.ts'
import { AppError } from '../base/errors.ts'
import { type Commit, type NodePath, type ProposalStart, proposeChanges } from './edits.ts'

/** Attempts to save a change on a `main` that moves. Each lost one means that another user has saved. */
const mostAttempts = 5

/** The same files were changed since the visitor opened the page. */
export class OvertakenError extends Error {
  /** The head of main, and the changed paths. */
  readonly head: string
  readonly paths: readonly string[]

  constructor(head: string, paths: readonly string[]) {
    super('The same files were changed since')
    this.head = head
    this.paths = paths
  }
}

/**
 * Commits to main. Keeps changes of other files since `seen`. A commit that would change nothing counts as saved.
 *
 * @param seen the head that the visitor saw
 * @throws OvertakenError; errors of createCommit except no_changes
 */
export async function saveChanges(api: Api, path: NodePath, seen: string, { changes, message }: Commit): Promise<void> {
  let head = seen
  for (let attempt = 0; attempt < mostAttempts; attempt++) {
    try {
      await api.createCommit({ path: { ...path, branch: 'main' }, body: { message, changes, expected_head: head } })
      return
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      if (error.code === 'no_changes') return
      const now = error.facts.current_head
      if (error.code !== 'head_moved' || typeof now !== 'string') throw error
      const others = await changedPaths(api, path, seen, now)
      if (changes.some((change) => others.includes(change.path))) throw new OvertakenError(now, others)
      head = now
    }
  }
  throw new AppError('busy', 'This page is being changed by others. Nothing was saved; try again in a moment')
}

/** Opens a proposal with the changes. @returns its number; undefined if they would change nothing */
export async function proposeUnlessSame(
  api: Api,
  path: NodePath,
  from: ProposalStart,
  commit: Commit,
): Promise<number | undefined> {
  try {
    return await proposeChanges(api, path, from, commit)
  } catch (error) {
    if (error instanceof AppError && error.code === 'no_changes') return undefined
    throw error
  }
}

async function changedPaths(api: Api, path: NodePath, base: string, head: string): Promise<string[]> {
  const { changes } = await api.compareCommits({ path, query: { base, head } })
  const all = [...changes.added, ...changes.removed, ...changes.modified]
  return all.flatMap(({ entity_key }) => (entity_key === null ? [] : [entity_key]))
}
