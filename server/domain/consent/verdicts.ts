/** The verdicts on a pull request, and which of them hold for its present change. */
import { listLastVerdicts, listReviewerRows, type VerdictRow } from '../../../index/derived/entries.ts'
import type { Deps } from '../../base/deps.ts'
import type { NodeAccess } from '../access.ts'
import { type Change, compareChanges } from './same-change.ts'

/** `stale` is an approval of another change. Objections do not become stale. */
export type VerdictState = 'current' | 'stale' | 'withdrawn' | 'dismissed'

/** The last verdict of a user. */
export interface Verdict {
  readonly entry: number
  readonly author_id: string
  readonly author: string
  readonly author_email: string
  readonly created_at: string
  readonly verdict: 'approve' | 'request_changes'
  readonly state: VerdictState
  /** True if it is current, and another member gave it than the author. */
  readonly counts: boolean
  readonly head_commit: string
}

export interface Consent {
  /** The verdicts that count. */
  readonly approvals: number
  readonly changes_requested: number
  /** The last verdict of each user, by entry. */
  readonly verdicts: readonly Verdict[]
}

/** A user who was asked for a review. */
export interface ReviewRequest {
  readonly user_id: string
  readonly name: string
  readonly requested_at: string
}

/** The rows about the reviews of a pull request. */
export interface ReviewFacts {
  readonly verdicts: readonly VerdictRow[]
  readonly reviewers: readonly ReviewRequest[]
}

const noFacts: ReviewFacts = { verdicts: [], reviewers: [] }

/** Reads the facts of several pull requests of a node with two statements. */
export async function readReviewFacts(
  { index }: Pick<Deps, 'index'>,
  orgId: string,
  nodeId: string,
  numbers: readonly number[],
): Promise<(number: number) => ReviewFacts> {
  const verdicts = await listLastVerdicts(index.read, orgId, nodeId, numbers)
  const reviewers = await listReviewerRows(index.read, nodeId, numbers)
  if (verdicts.length === 0 && reviewers.length === 0) return () => noFacts
  const facts = new Map<number, { verdicts: VerdictRow[]; reviewers: ReviewRequest[] }>()
  for (const number of numbers) facts.set(number, { verdicts: [], reviewers: [] })
  for (const verdict of verdicts) facts.get(verdict.number)?.verdicts.push(verdict)
  for (const { number, user_id, name, since } of reviewers)
    facts.get(number)?.reviewers.push({ user_id, name, requested_at: since })
  return (number) => facts.get(number) ?? noFacts
}

/** The parts of a pull request that decide whether a verdict counts. */
export interface Judged {
  readonly target_branch: string
  readonly author_id: string | null
  readonly author_email: string
}

/**
 * Decides which verdicts hold.
 *
 * @param present reads the present change; called only if an approval must be compared with it
 * @throws the errors of compareChanges and `present`
 */
export async function readConsent(
  node: Pick<NodeAccess, 'repo' | 'history'>,
  pull: Judged,
  rows: readonly VerdictRow[],
  present: () => Promise<Change>,
  signal?: AbortSignal,
): Promise<Consent> {
  if (rows.length === 0) return { approvals: 0, changes_requested: 0, verdicts: [] }
  const verdicts: Verdict[] = []
  let change: Change | undefined
  for (const row of rows) {
    const mayHold = row.verdict === 'approve' && row.withdrawn === 0 && row.dismissed === 0
    if (mayHold) change ??= await present()
    const found = stateOf(node, pull, row, change, signal)
    const state = typeof found === 'string' ? found : await found
    const isAuthor = pull.author_id === null ? pull.author_email === row.email : pull.author_id === row.user_id
    verdicts.push({
      entry: row.entry,
      author_id: row.user_id,
      author: row.name,
      author_email: row.email,
      created_at: row.at,
      verdict: row.verdict,
      state,
      counts: state === 'current' && row.is_member === 1 && !isAuthor,
      head_commit: row.head,
    })
  }
  const count = (verdict: Verdict['verdict']) => verdicts.filter((one) => one.counts && one.verdict === verdict).length
  return { approvals: count('approve'), changes_requested: count('request_changes'), verdicts }
}

/** Decides without waiting where nothing must be compared, because a list has hundreds of verdicts. */
function stateOf(
  node: Pick<NodeAccess, 'repo' | 'history'>,
  { target_branch }: Judged,
  { verdict, head, base, withdrawn, dismissed, target_branch: approvedFor }: VerdictRow,
  present: Change | undefined,
  signal: AbortSignal | undefined,
): VerdictState | Promise<VerdictState> {
  if (withdrawn) return 'withdrawn'
  if (dismissed) return 'dismissed'
  if (verdict === 'request_changes' || present === undefined) return 'current'
  if (approvedFor !== target_branch) return 'stale'
  if (head === present.head && base === present.base) return 'current'
  return compareChanges(node, { base, head }, present, signal).then((same) => (same === 'other' ? 'stale' : 'current'))
}
