/** The verdicts on a pull request, and which of them hold for its current change. */
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { type CheckRow, hasAnyChecks, listChecks } from '../../../index/derived/checks.ts'
import { listLastVerdicts, listObjections, listReviewerRows, type VerdictRow } from '../../../index/derived/entries.ts'
import { findLastMerge, type PullRow } from '../../../index/derived/pulls.ts'
import type { IndexDb } from '../../../index/derived/schema.ts'
import type { LedgerAccess, NodeAccess } from '../access.ts'
import { comparableEmail, hashOfEmail, parseHiddenEmail } from '../format/hidden-emails.ts'
import { maxFormerEmails } from '../format/org-format.ts'
import { branchRef } from '../layout.ts'
import type { Services } from '../services.ts'
import { listAlike } from './alike-changes.ts'
import { rulesOfBranch } from './branch-rules.ts'
import { type HeldRule, isAskedByAny, type VerdictState } from './judge.ts'
import { type Change, compareChanges, type Sameness } from './same-change.ts'

/** A user who was asked for a review. */
export interface ReviewRequest {
  readonly user_id: string
  readonly name: string
  readonly requested_at: string
}

/** The rows about the reviews of a pull request, and about its head and others. */
export interface ReviewFacts {
  readonly verdicts: readonly VerdictRow[]
  readonly reviewers: readonly ReviewRequest[]
  /** Requests for changes that hold, in these and other pull requests. */
  readonly objections: readonly VerdictRow[]
  /** Each head has a list. Null: the node has no checks. */
  readonly checks: RowsByHead<CheckRow> | null
}

type RowsByHead<T> = ReadonlyMap<Oid, readonly T[]>

/** Reads the facts of several pull requests of a node. Takes four statements, or five if the node has checks. */
export async function readReviewFacts(
  { index }: Pick<Services, 'index'>,
  { org, node, repo }: Pick<LedgerAccess, 'org' | 'node' | 'repo'>,
  rows: readonly PullRow[],
): Promise<(number: number) => ReviewFacts> {
  const numbers = rows.map(({ number }) => number)
  const verdicts = await listLastVerdicts(index.read, org.id, node.id, numbers)
  const reviewers = await listReviewerRows(index.read, node.id, numbers)
  const heads = rows.map((row) => headOf(repo, row))
  const objections = await listObjections(index.read, org.id, node.id, heads)
  const checks = (await hasAnyChecks(index.read, node.id)) ? await readChecksByHead(index.read, node.id, heads) : null
  const facts = new Map<number, { verdicts: VerdictRow[]; reviewers: ReviewRequest[] }>()
  for (const number of numbers) facts.set(number, { verdicts: [], reviewers: [] })
  for (const verdict of verdicts) facts.get(verdict.number)?.verdicts.push(verdict)
  for (const { number, user_id, name, since } of reviewers)
    facts.get(number)?.reviewers.push({ user_id, name, requested_at: since })
  return (number) => ({ ...(facts.get(number) ?? { verdicts: [], reviewers: [] }), objections, checks })
}

function headOf(repo: Repo, { status, source_branch, source_commit }: PullRow): Oid {
  return status === 'open' ? (readRef(repo, branchRef(source_branch)) ?? source_commit) : source_commit
}

/** Reads what was reported about these commits. Each is in the answer. */
export async function readChecksByHead(
  db: IndexDb,
  nodeId: string,
  heads: readonly Oid[],
): Promise<RowsByHead<CheckRow>> {
  const byHead = new Map<Oid, CheckRow[]>(heads.map((head) => [head, []]))
  for (const row of await listChecks(db, nodeId, [...byHead.keys()])) byHead.get(row.commit_id)?.push(row)
  return byHead
}

/** The parts of a pull request that decide whether a verdict counts. */
export interface Judged
  extends Pick<PullRow, 'number' | 'target_branch' | 'stacked_on' | 'author_id' | 'author_email'> {
  /** The user who opened the change set of an item. */
  readonly set_author_id?: string | null
}

/** The node of a pull request to judge. */
export type JudgedNode = Pick<LedgerAccess, 'org' | 'node' | 'repo' | 'history'>

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
 * @param present reads the current change; called only if an approval must be compared with it
 * @throws the errors of compareChanges and `present`
 */
export async function readVerdicts(
  deps: Services,
  node: JudgedNode,
  pull: Judged,
  rows: readonly VerdictRow[],
  present: () => Promise<Change>,
  signal?: AbortSignal,
): Promise<StatedVerdict[]> {
  const verdicts: StatedVerdict[] = []
  let change: Change | undefined
  let until: string | undefined
  for (const row of rows) {
    const mayHold = row.verdict === 'approve' && row.withdrawn === 0 && row.dismissed === 0
    if (mayHold) change ??= await present()
    if (mayHold && row.target_branch !== pull.target_branch && row.target_branch === pull.stacked_on)
      until ??= await stackHeldUntil(deps, node, pull.target_branch, pull.stacked_on)
    const isForTarget = row.target_branch === pull.target_branch || row.at <= (until ?? '')
    const found = stateOf(node, isForTarget, row, change, signal)
    const { state, sameness } = found instanceof Promise ? await found : found
    verdicts.push({ row, state, sameness, isOpener: isOpenerOf(pull, row) })
  }
  return verdicts
}

/** A pull request whose objections in other pull requests are searched. */
interface Searched {
  readonly pull: Judged
  readonly rules: readonly HeldRule[]
  /** The verdicts on this pull request. */
  readonly own: readonly StatedVerdict[]
  readonly objections: readonly VerdictRow[]
  readonly present: () => Promise<Change>
}

/**
 * Returns the requests for changes of the same head or change in other pull requests. If the user has given a verdict
 * here since, that one holds instead. Changes are compared only for requests that count for a rule.
 *
 * @throws the errors of listAlike and `present`
 */
export async function objectionsElsewhere(
  { repo }: JudgedNode,
  { pull, rules, own, objections, present }: Searched,
  signal?: AbortSignal,
): Promise<StatedVerdict[]> {
  const isReplaced = (one: VerdictRow) =>
    own.some(
      ({ state, row: { user_id, verdict, head, at, withdrawn, dismissed } }) =>
        user_id === one.user_id &&
        (verdict === 'request_changes' || ((head === one.head || state === 'current') && at >= one.at)) &&
        withdrawn + dismissed === 0,
    )
  const others = objections.filter((one) => one.number !== pull.number && !isReplaced(one))
  if (others.length === 0) return []
  const change = await present()
  const compared = others.filter(
    (one) => one.head === change.head || (isAskedByAny(rules, one) && !isOpenerOf(pull, one)),
  )
  const alike = await listAlike(repo, compared, change, signal)
  return alike.map((row) => ({ row, ...currentState, isOpener: isOpenerOf(pull, row) }))
}

/** A time after all others, as a string. */
const always = 'always'

/**
 * Returns until when approvals for a deleted target hold for the branch that replaced it. They always do if each rule of
 * the branch also holds for the deleted one. Otherwise they do until a pull request last merged the deleted one into it.
 * Nobody approves for `main` what goes to a branch without rules.
 */
async function stackHeldUntil(
  deps: Services,
  { org, node }: JudgedNode,
  target: string,
  deleted: string,
): Promise<string> {
  const known = await rulesOfBranch(deps, org, node.id, deleted)
  const isKnown = ({ at }: HeldRule) => known.some((one) => one.at === at)
  if ((await rulesOfBranch(deps, org, node.id, target)).every(isKnown)) return always
  return (await findLastMerge(deps.index.read, node.id, deleted, target)) ?? ''
}

/** True if the user opened the pull request. Without an id, each address of the user is compared. */
function isOpenerOf({ author_id, author_email, set_author_id }: Judged, row: VerdictRow): boolean {
  if (set_author_id != null && set_author_id === row.user_id) return true
  return author_id === null ? hasEmailOf(new Set([comparableEmail(author_email)]), row) : author_id === row.user_id
}

type Stated = Pick<StatedVerdict, 'state' | 'sameness'>

const withdrawnState: Stated = { state: 'withdrawn', sameness: 'other' }
const dismissedState: Stated = { state: 'dismissed', sameness: 'other' }
const staleState: Stated = { state: 'stale', sameness: 'other' }
const currentState: Stated = { state: 'current', sameness: 'same_commit' }

/** Decides without waiting where nothing must be compared, because a list has hundreds of verdicts. */
function stateOf(
  node: Pick<NodeAccess, 'repo' | 'history'>,
  isForTarget: boolean,
  { verdict, head, base, withdrawn, dismissed }: VerdictRow,
  present: Change | undefined,
  signal: AbortSignal | undefined,
): Stated | Promise<Stated> {
  if (withdrawn) return withdrawnState
  if (dismissed) return dismissedState
  if (verdict === 'request_changes' || present === undefined) return currentState
  if (!isForTarget) return staleState
  if (head === present.head && base === present.base) return currentState
  return compareChanges(node, { base, head }, present, signal).then((sameness) =>
    sameness === 'other' ? staleState : { state: 'current', sameness },
  )
}

/** The addresses of a user. */
export type KnownEmails = Pick<VerdictRow, 'user_id' | 'email' | 'member_email' | 'former_emails'>

/**
 * True if one of these addresses of commits is the user's. It may be the current one, an earlier one, the one of the
 * verdict, or the hidden one. Also true if the list of earlier ones is full, because it may have lost one.
 *
 * @param emails as `comparableEmail` returns them
 */
export function hasEmailOf(emails: ReadonlySet<string>, row: KnownEmails): boolean {
  if (emails.size === 0) return false
  const own = [row.email, row.member_email ?? row.email].map(comparableEmail)
  if (own.some((email) => emails.has(email))) return true
  const former = new Set<string>(row.former_emails === null ? [] : (JSON.parse(row.former_emails) as string[])) // rows of ours
  if (former.size >= maxFormerEmails) return true
  return [...emails].some((email) => parseHiddenEmail(email) === row.user_id || former.has(hashOfEmail(email)))
}
