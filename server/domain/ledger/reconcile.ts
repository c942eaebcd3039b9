/**
 * Computes how moved and deleted branches change open pull requests.
 *
 * It is pure: current heads and answers about ancestry are inputs. So a push, a merge, a deleted branch and a
 * repository changed outside the service share one rule.
 *
 * - A target that moved merges each pull request whose head it did not reach before and reaches now, except drafts.
 * - A pull request whose source is gone closes.
 * - A pull request whose target is gone is retargeted to main. It closes if main does not exist, is its source, or
 *   already has an open pull request from its source.
 *
 * The rule is idempotent: the same moves cause no event for the resulting pull requests.
 */

import type { Oid } from '../../../gitstore/repo.ts'
import type { Author } from '../format/signatures.ts'
import { branchName, branchRef } from '../layout.ts'
import type { RecordedVia } from '../via.ts'
import type { PullRecord } from './ledger.ts'

/** The branch to which pull requests are retargeted. */
const fallback = 'main'

/** A branch before and after. Null: it does not exist. */
export interface BranchMove {
  readonly before: Oid | null
  readonly after: Oid | null
}

/** Branches by their short names. */
type BranchMoves = ReadonlyMap<string, BranchMove>

/** The open pull requests, and the moves of branches. */
export interface ReconcileInput {
  /** Every open pull request of the node. */
  readonly open: readonly PullRecord[]
  /** Branches that moved, appeared or were deleted. All others exist and are unchanged. */
  readonly moves: BranchMoves
  /** The head of a branch that is not among `moves`, or null. */
  readonly headOf: (branch: string) => Oid | null
}

/** The author, the time and the way of a change. */
export interface ChangedBy {
  readonly by: Author
  /** ISO 8601. */
  readonly at: string
  /** Undefined for a session, and for moves outside the service. */
  readonly via?: RecordedVia | undefined
}

type SettledKind = 'merge' | 'close' | 'edit'

/** One event of the ledger. */
export interface Reconciled {
  readonly kind: SettledKind
  /** The pull request after the event. Its commit counts are still those of the last event. */
  readonly record: PullRecord
}

/** A ref that keeps the head of a closed pull request. */
export interface Pin {
  readonly number: number
  readonly head: Oid
}

export interface Outcome {
  /** In the order of the ledger. */
  readonly events: readonly Reconciled[]
  readonly pins: readonly Pin[]
}

export interface Verdict extends ReconcileInput {
  /** True if the move of `target` brought in `head`. Called only for pairs in `questionsOf`. */
  readonly tookIn: (target: string, head: Oid) => boolean
  /** The author recorded for an event. */
  readonly by: (kind: SettledKind, target: string) => Author
  /** ISO 8601. */
  readonly at: string
  /** How the moves came about. */
  readonly via?: RecordedVia | undefined
}

/** Returns the heads that each branch's move may have brought in. `tookIn` decides about them. */
export function questionsOf({ open, moves, headOf }: ReconcileInput): Map<string, Set<Oid>> {
  const questions = new Map<string, Set<Oid>>()
  for (const record of open) {
    if (record.is_draft) continue
    const target = isGone(moves, record.target_branch) ? fallback : record.target_branch
    const { before, after } = moves.get(target) ?? unmoved
    const head = before && after && before !== after ? lastHead(moves, headOf, record) : null
    if (head !== null) questions.set(target, (questions.get(target) ?? new Set()).add(head))
  }
  return questions
}

/** Returns the events that the moves cause, and the heads to pin. */
export function reconcile({ open, moves, headOf, tookIn, by, at, via }: Verdict): Outcome {
  const events: Reconciled[] = []
  const pins: Pin[] = []
  const inOrder = [...open].sort((a, b) => a.number - b.number)
  const left = new Map(inOrder.map((record) => [record.number, record]))
  // Sources that have an open pull request into main.
  const intoMain = new Set(inOrder.flatMap((record) => (record.target_branch === fallback ? record.source_branch : [])))

  const end = (record: PullRecord, status: 'merged' | 'closed', source: Oid, target: Oid): void => {
    const kind = status === 'merged' ? 'merge' : 'close'
    const person = by(kind, record.target_branch)
    const heads = { source_commit: source, target_before: target }
    const event = { by: person, at, via }
    events.push({ kind, record: { ...record, ...heads, ...event, status, ended: event } })
    if (status === 'closed') pins.push({ number: record.number, head: source })
    left.delete(record.number)
    if (record.target_branch === fallback) intoMain.delete(record.source_branch)
  }

  const mergeIfTaken = (record: PullRecord): void => {
    const { before, after } = moves.get(record.target_branch) ?? unmoved
    if (record.is_draft || !before || !after || before === after) return
    const head = lastHead(moves, headOf, record)
    if (tookIn(record.target_branch, head)) end(record, 'merged', head, before)
  }

  const close = (record: PullRecord): void => {
    const move = moves.get(record.target_branch)
    const target = move ? (move.after ?? move.before) : headOf(record.target_branch)
    end(record, 'closed', lastHead(moves, headOf, record), target ?? record.target_before)
  }

  const retarget = (record: PullRecord, main: Oid): void => {
    const source = lastHead(moves, headOf, record)
    const heads = { source_commit: source, target_before: main }
    const change = { target_branch: fallback, stacked_on: record.target_branch, ...heads }
    const moved = { ...record, ...change, by: by('edit', fallback), at, via }
    events.push({ kind: 'edit', record: moved })
    left.set(record.number, moved)
    intoMain.add(record.source_branch)
    mergeIfTaken(moved)
  }

  for (const record of [...left.values()]) mergeIfTaken(record)
  for (const record of [...left.values()]) {
    const { source_branch, target_branch } = record
    const sourceIsGone = isGone(moves, source_branch)
    if (!sourceIsGone && !isGone(moves, target_branch)) continue
    const main = moves.has(fallback) ? (moves.get(fallback)?.after ?? null) : headOf(fallback)
    if (sourceIsGone || main === null || source_branch === fallback || intoMain.has(source_branch)) close(record)
    else retarget(record, main)
  }
  return { events, pins }
}

const unmoved: BranchMove = { before: null, after: null }

function isGone(moves: BranchMoves, branch: string): boolean {
  return moves.get(branch)?.after === null
}

/** Returns the source's head, or its last known one. */
function lastHead(moves: BranchMoves, headOf: ReconcileInput['headOf'], record: PullRecord): Oid {
  const move = moves.get(record.source_branch)
  return (move ? (move.after ?? move.before) : headOf(record.source_branch)) ?? record.source_commit
}

/**
 * Returns the moves between two states, by full ref name. Includes branches of open pull requests in neither state,
 * except the `main` that a proposed node does not have yet.
 */
export function movesBetween(
  before: ReadonlyMap<string, Oid>,
  after: ReadonlyMap<string, Oid>,
  open: readonly PullRecord[],
  isProposed: boolean,
): Map<string, BranchMove> {
  const moves = new Map<string, BranchMove>()
  for (const [ref, oid] of before) {
    const now = after.get(ref) ?? null
    if (now !== oid) moves.set(branchName(ref), { before: oid, after: now })
  }
  for (const [ref, oid] of after) if (!before.has(ref)) moves.set(branchName(ref), { before: null, after: oid })
  for (const { source_branch, target_branch } of open)
    for (const branch of [source_branch, target_branch])
      if (!after.has(branchRef(branch)) && !moves.has(branch) && !(isProposed && branch === fallback))
        moves.set(branch, unmoved)
  return moves
}
