/** The verdicts on a pull request, and which of them hold for its present change. */
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { type CheckRow, hasAnyChecks, listChecks } from '../../../index/derived/checks.ts'
import { listLastVerdicts, listReviewerRows, type VerdictRow } from '../../../index/derived/entries.ts'
import type { PullRow } from '../../../index/derived/pulls.ts'
import type { IndexDb } from '../../../index/derived/schema.ts'
import type { Deps } from '../../base/deps.ts'
import type { NodeAccess } from '../access.ts'
import { hashOfEmail, parseHiddenEmail } from '../format/hidden-emails.ts'
import { branchRef } from '../layout.ts'
import type { VerdictState } from './judge.ts'
import { type Change, compareChanges, type Sameness } from './same-change.ts'

/** A user who was asked for a review. */
export interface ReviewRequest {
  readonly user_id: string
  readonly name: string
  readonly requested_at: string
}

/** The rows about the reviews of a pull request, and about the checks of heads. */
export interface ReviewFacts {
  readonly verdicts: readonly VerdictRow[]
  readonly reviewers: readonly ReviewRequest[]
  /** Keyed by commit. Has the heads of all pull requests that were read together. Null: the node has no checks. */
  readonly checks: ReadonlyMap<Oid, readonly CheckRow[]> | null
}

/** Reads the facts of several pull requests of a node. Takes three statements, or four if the node has checks. */
export async function readReviewFacts(
  { index }: Pick<Deps, 'index'>,
  { org, node, repo }: Pick<NodeAccess, 'org' | 'node' | 'repo'>,
  rows: readonly PullRow[],
): Promise<(number: number) => ReviewFacts> {
  const numbers = rows.map(({ number }) => number)
  const verdicts = await listLastVerdicts(index.read, org.id, node.id, numbers)
  const reviewers = await listReviewerRows(index.read, node.id, numbers)
  const heads = () => rows.map((row) => headOf(repo, row))
  const checks = (await hasAnyChecks(index.read, node.id)) ? await readChecksByHead(index.read, node.id, heads()) : null
  const facts = new Map<number, { verdicts: VerdictRow[]; reviewers: ReviewRequest[] }>()
  for (const number of numbers) facts.set(number, { verdicts: [], reviewers: [] })
  for (const verdict of verdicts) facts.get(verdict.number)?.verdicts.push(verdict)
  for (const { number, user_id, name, since } of reviewers)
    facts.get(number)?.reviewers.push({ user_id, name, requested_at: since })
  return (number) => ({ ...(facts.get(number) ?? { verdicts: [], reviewers: [] }), checks })
}

function headOf(repo: Repo, { status, source_branch, source_commit }: PullRow): Oid {
  return status === 'open' ? (readRef(repo, branchRef(source_branch)) ?? source_commit) : source_commit
}

/** Reads what was reported about these commits. Each is in the answer. */
export async function readChecksByHead(
  db: IndexDb,
  nodeId: string,
  heads: readonly Oid[],
): Promise<ReadonlyMap<Oid, readonly CheckRow[]>> {
  const byHead = new Map<Oid, CheckRow[]>(heads.map((head) => [head, []]))
  for (const row of await listChecks(db, nodeId, [...byHead.keys()])) byHead.get(row.commit_id)?.push(row)
  return byHead
}

/** The parts of a pull request that decide whether a verdict counts. */
export type Judged = Pick<PullRow, 'target_branch' | 'stacked_on' | 'author_id' | 'author_email'>

/** A verdict with what decides whether it counts, except for the rules. */
export interface StatedVerdict {
  readonly row: VerdictRow
  readonly state: VerdictState
  readonly sameness: Sameness
  readonly isOpener: boolean
}

/**
 * Decides which verdicts hold.
 *
 * @param present reads the present change; called only if an approval must be compared with it
 * @throws the errors of compareChanges and `present`
 */
export async function readVerdicts(
  node: Pick<NodeAccess, 'repo' | 'history'>,
  pull: Judged,
  rows: readonly VerdictRow[],
  present: () => Promise<Change>,
  signal?: AbortSignal,
): Promise<StatedVerdict[]> {
  const verdicts: StatedVerdict[] = []
  let change: Change | undefined
  for (const row of rows) {
    const mayHold = row.verdict === 'approve' && row.withdrawn === 0 && row.dismissed === 0
    if (mayHold) change ??= await present()
    const found = stateOf(node, pull, row, change, signal)
    const { state, sameness } = found instanceof Promise ? await found : found
    verdicts.push({ row, state, sameness, isOpener: isOpenerOf(pull, row) })
  }
  return verdicts
}

/** True if the user opened the pull request. Without an id, each address of the user is compared. */
function isOpenerOf({ author_id, author_email }: Judged, row: VerdictRow): boolean {
  return author_id === null ? hasEmailOf(new Set([author_email.toLowerCase()]), row) : author_id === row.user_id
}

type Stated = Pick<StatedVerdict, 'state' | 'sameness'>

const withdrawnState: Stated = { state: 'withdrawn', sameness: 'other' }
const dismissedState: Stated = { state: 'dismissed', sameness: 'other' }
const staleState: Stated = { state: 'stale', sameness: 'other' }
const currentState: Stated = { state: 'current', sameness: 'same_commit' }

/** Decides without waiting where nothing must be compared, because a list has hundreds of verdicts. */
function stateOf(
  node: Pick<NodeAccess, 'repo' | 'history'>,
  { target_branch, stacked_on }: Judged,
  { verdict, head, base, withdrawn, dismissed, target_branch: approvedFor }: VerdictRow,
  present: Change | undefined,
  signal: AbortSignal | undefined,
): Stated | Promise<Stated> {
  if (withdrawn) return withdrawnState
  if (dismissed) return dismissedState
  if (verdict === 'request_changes' || present === undefined) return currentState
  if (approvedFor !== target_branch && approvedFor !== stacked_on) return staleState
  if (head === present.head && base === present.base) return currentState
  return compareChanges(node, { base, head }, present, signal).then((sameness) =>
    sameness === 'other' ? staleState : { state: 'current', sameness },
  )
}

/**
 * True if one of these addresses of commits is the user's. It may be the present one, an earlier one, the one of the
 * verdict, or the hidden one.
 *
 * @param emails in lower case
 */
export function hasEmailOf(emails: ReadonlySet<string>, row: VerdictRow): boolean {
  if (emails.size === 0) return false
  const own = [row.email, row.member_email ?? row.email].map((email) => email.toLowerCase())
  if (own.some((email) => emails.has(email))) return true
  const former = new Set<string>(row.former_emails === null ? [] : (JSON.parse(row.former_emails) as string[])) // rows of ours
  return [...emails].some((email) => parseHiddenEmail(email) === row.user_id || former.has(hashOfEmail(email)))
}
