/** The API calls that propose an earlier version. */

import type { Api } from '../../spec/client/api.ts'
import { AppError } from '../base/errors.ts'
import * as limits from '../base/limits.ts'
import type { NodePath } from './edits.ts'

export interface Version {
  readonly branch: string
  /** The head of the branch, as the visitor saw it. */
  readonly head: string
  /** The commit to restore. */
  readonly commit: string
  /** The commit message. If it is blank, the API generates one. */
  readonly message: string
}

/** Restores the version on its branch. @throws head_moved, no_changes and other errors of restoreBranch */
export async function restoreNow(api: Api, path: NodePath, { branch, head, commit, message }: Version): Promise<void> {
  await api.restoreBranch({ path: { ...path, branch }, body: { commit, expected_head: head, ...worded(message) } })
}

/**
 * Restores the version on a new branch and opens a proposal. The branch is named after the version and the head, so a
 * form that is sent twice opens one proposal. The branch is deleted again if a later step is refused.
 *
 * @returns the number of the proposal
 */
export async function proposeRestore(api: Api, path: NodePath, version: Version): Promise<number> {
  const { branch: target, head, commit, message } = version
  const branch = `proposals/restore-${commit.slice(0, 8)}-${head.slice(0, 8)}`
  const isNew = await unless('branch_exists', api.createBranch({ path, body: { name: branch, from: head } }))
  try {
    const body = { commit, expected_head: head, ...worded(message) }
    // If the branch has moved, the same form was sent twice, and the other one has restored the version.
    await unless('head_moved', api.restoreBranch({ path: { ...path, branch }, body }))
    const { message: said } = await api.getBranch({ path: { ...path, branch } })
    const [title = '', ...lines] = said.split('\n')
    const { pr } = await api.openPull({
      path,
      body: {
        ...{ source_branch: branch, target_branch: target },
        ...{ title: title.trim().slice(0, limits.title), description: lines.join('\n').trim() },
      },
    })
    return pr.number
  } catch (error) {
    if (error instanceof AppError && error.code === 'pull_request_exists') return Number(error.facts.number)
    if (isNew) await api.deleteBranch({ path: { ...path, branch } }).catch(() => undefined)
    throw error
  }
}

function worded(message: string): { message?: string } {
  return message.trim() === '' ? {} : { message: message.trim() }
}

/** Returns true if the call succeeds, and false if it is refused with this code. @throws its other errors */
async function unless(code: AppError['code'], called: Promise<unknown>): Promise<boolean> {
  try {
    await called
    return true
  } catch (error) {
    if (error instanceof AppError && error.code === code) return false
    throw error
  }
}
