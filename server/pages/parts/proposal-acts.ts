/** The actions on a proposal as a form sends them. */

import { AppError } from '../../base/errors.ts'
import { type PageContext, param } from '../page-context.ts'

export interface PullPath {
  readonly org_id: string
  readonly node_id: string
  readonly number: number
}

/** Returns the number in the path. @throws AppError pull_request_not_found if it is not a number */
export function numberOf(visit: PageContext): number {
  const text = param(visit, 'number')
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new AppError('pull_request_not_found', 'Pull request not found')
  return Number(text)
}

/** Refusals after which the page shows the current state in addition to the error. */
export const toldRefusals: ReadonlySet<string> = new Set([
  'head_moved',
  'merged',
  'merge_conflict',
  'already_merged',
  'closed',
  'source_branch_missing',
  'target_branch_missing',
  'no_commits_ahead',
  'diverged',
  'invalid_content',
  'draft',
  'changes_requested',
  'approvals_missing',
  'checks_failed',
  'checks_missing',
  'threads_open',
  'pull_request_exists',
  'pull_request_required',
])

/** Performs the action of the form. @throws AppError, ValidationError */
export async function actOnProposal({ api, form }: PageContext, path: PullPath): Promise<void> {
  const [commit, target] = [form.get('commit') ?? '', form.get('target') ?? '']
  switch (form.get('act')) {
    case 'merge':
      await api.mergePull({ path, body: { expected_source_commit: commit, expected_target_branch: target } })
      return
    case 'update':
      await api.updatePullBranch({ path, body: {} })
      return
    case 'ready':
      await api.updatePull({ path, body: { is_draft: false } })
      return
    case 'close':
      await api.updatePull({ path, body: { status: 'closed' } })
      return
    case 'reopen':
      await api.updatePull({ path, body: { status: 'open' } })
      return
    default:
      throw new AppError('bad_request', 'The form does not name a known action')
  }
}
