/** Pull requests as responses. */

import type { PullRow } from '../../../index/derived/pulls.ts'
import type { Deps } from '../../base/deps.ts'
import type { NodeAccess } from '../access.ts'
import type { ContentProblem } from '../format/path-problem.ts'
import type { MergeReason } from './pull-state.ts'
import { stateOf } from './pull-state.ts'

export interface PullRequest {
  readonly id: string
  readonly node_id: string
  readonly number: number
  readonly title: string
  readonly description: string
  readonly source_branch: string
  readonly target_branch: string
  readonly source_commit: string
  readonly target_commit: string
  readonly status: 'open' | 'merged' | 'closed'
  readonly is_draft: boolean
  readonly author: string
  readonly author_email: string
  readonly created_at: string
  readonly updated_at: string
  readonly merged_by?: string
  readonly merged_by_email?: string
  readonly merged_at?: string
  readonly closed_by?: string
  readonly closed_by_email?: string
  readonly closed_at?: string
  readonly can_merge: boolean
  readonly merge_reason: MergeReason
  readonly merge_reasons: MergeReason[]
  readonly merge_problems: ContentProblem[]
  readonly commits_ahead: number
  readonly commits_behind: number
}

export async function toPull(deps: Deps, access: NodeAccess, row: PullRow): Promise<PullRequest> {
  const { node } = access
  const state = await stateOf(deps, access, row)
  return {
    id: row.id,
    node_id: node.id,
    number: row.number,
    title: row.title,
    description: row.description,
    source_branch: row.source_branch,
    target_branch: row.target_branch,
    source_commit: state.source ?? row.source_commit,
    target_commit: state.target ?? row.target_commit,
    status: row.status,
    is_draft: row.is_draft === 1,
    author: row.author,
    author_email: row.author_email,
    created_at: row.created_at,
    updated_at: state.updatedAt,
    ...ending(row),
    can_merge: state.reasons[0] === 'mergeable',
    merge_reason: state.reasons[0],
    merge_reasons: [...state.reasons],
    merge_problems: [...state.problems],
    commits_ahead: state.ahead,
    commits_behind: state.behind,
  }
}

/** When it ended, and by whom if known. */
function ending({ status, ended_by: name, ended_by_email: email, ended_at: at }: PullRow) {
  if (at === null) return {}
  const known = name !== null && email !== null
  if (status === 'merged') return { merged_at: at, ...(known ? { merged_by: name, merged_by_email: email } : {}) }
  return { closed_at: at, ...(known ? { closed_by: name, closed_by_email: email } : {}) }
}
