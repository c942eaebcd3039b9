/** Whether a pull request can merge, and why not: exact, at once, from refs and history alone. */
import type { Kysely } from 'kysely'
import { findCommit } from '../../../gitstore/commits.ts'
import { readRef } from '../../../gitstore/refs.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import type { IndexSchema } from '../../../index/derived/schema.ts'
import type { MergeRefusal } from '../../errors.ts'
import type { NodeAccess } from '../access.ts'
import { laterOf, timeOf } from '../authors.ts'
import { type ContentProblem, readContent } from '../entities.ts'
import { main } from '../places.ts'
import { graphProblems } from '../rules.ts'
import type { PullRow } from './pull-ledger.ts'

export type MergeReason = MergeRefusal | 'mergeable'

export interface PullState {
  readonly source: Oid | null
  readonly target: Oid | null
  readonly ahead: number
  readonly behind: number
  readonly problems: readonly ContentProblem[]
  /** All that hold, the first of them first; `mergeable` alone when it can merge. */
  readonly reasons: readonly [MergeReason, ...MergeReason[]]
  /** ISO 8601: when the request or its source last changed. */
  readonly updatedAt: string
}

type PullFacts = Pick<
  PullRow,
  | 'status'
  | 'is_draft'
  | 'source_branch'
  | 'target_branch'
  | 'source_commit'
  | 'target_commit'
  | 'ahead'
  | 'behind'
  | 'recorded_at'
>

/** The state as the branches stand now; of an ended request, as it was frozen. */
export async function stateOf(
  db: Kysely<IndexSchema>,
  { org, node, repo, history }: NodeAccess,
  pull: PullFacts,
): Promise<PullState> {
  const frozen = {
    source: pull.source_commit,
    target: pull.target_commit,
    ahead: pull.ahead,
    behind: pull.behind,
    problems: [],
    updatedAt: pull.recorded_at,
  }
  if (pull.status === 'merged') return { ...frozen, reasons: ['already_merged'] }
  if (pull.status === 'closed') return { ...frozen, reasons: ['closed'] }
  const source = readRef(repo, `refs/heads/${pull.source_branch}`)
  const target = readRef(repo, `refs/heads/${pull.target_branch}`)
  const { ahead, behind } = source && target ? await history.divergence(target, source) : pull
  const problems = source ? await problemsOfHead(db, org.id, node.id, repo, source, pull.target_branch === 'main') : []
  const holds: [MergeReason, boolean][] = [
    ['source_branch_missing', source === null],
    ['target_branch_missing', target === null],
    ['no_commits_ahead', source !== null && target !== null && ahead === 0],
    ['diverged', source !== null && target !== null && ahead > 0 && behind > 0],
    ['invalid_content', problems.length > 0],
    ['draft', pull.is_draft === 1],
  ]
  const [first = 'mergeable', ...rest] = holds.filter(([, held]) => held).map(([reason]) => reason)
  const moved = source ? await findCommit(repo, source) : undefined
  const movedAt = moved ? timeOf(moved.committer) : ''
  const updatedAt = laterOf(movedAt, pull.recorded_at)
  return { source, target, ahead, behind, problems, reasons: [first, ...rest], updatedAt }
}

/** What of the source's head breaks main's rules. */
async function problemsOfHead(
  db: Kysely<IndexSchema>,
  orgId: string,
  nodeId: string,
  repo: Repo,
  source: Oid,
  intoMain: boolean,
): Promise<ContentProblem[]> {
  const commit = await findCommit(repo, source)
  const content = await readContent(repo, commit?.tree ?? null)
  if (!intoMain) return [...content.problems]
  const head = readRef(repo, main)
  const known = await readContent(repo, head === null ? null : ((await findCommit(repo, head))?.tree ?? null))
  return [...content.problems, ...(await graphProblems(db, orgId, nodeId, known, content))]
}
