/** Settles open pull requests after moves of branches, and writes the events to the ledger. */
import type { History } from '../../../gitstore/history/history.ts'
import { findCommit } from '../../../gitstore/objects/commits.ts'
import { type Move, updateRefs } from '../../../gitstore/refs/ref-transaction.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { findNodeVersion } from '../../../index/derived/node-queries.ts'
import { type Author, authorOf } from '../format/signatures.ts'
import { ledgerRef, pinRef } from '../layout.ts'
import type { Services } from '../services.ts'
import { appendPulls, type PullAct, readPull } from './ledger.ts'
import { withHeads } from './pull-ledger.ts'
import {
  type ChangedBy,
  type Outcome,
  type Pin,
  questionsOf,
  type Reconciled,
  type ReconcileInput,
  reconcile,
} from './reconcile.ts'

export interface RepoHistory {
  readonly repo: Repo
  readonly history: History
}

/** The author of events that were caused outside the service. */
const unknown: Author = { name: '', email: '' }

/**
 * Computes the events that the moves cause for open pull requests. Writes nothing.
 *
 * The author `by` moved the branches. If it is undefined, a merge records the committer of the target's head, and
 * nothing says how the merge was made.
 */
export async function reconcileMoves(
  node: RepoHistory,
  situation: ReconcileInput,
  { by, at, via }: Omit<ChangedBy, 'by'> & { readonly by?: Author },
): Promise<Outcome> {
  const taken = new Map<string, ReadonlySet<Oid>>()
  const committers = new Map<string, Author>()
  for (const [target, heads] of questionsOf(situation)) {
    const { before, after } = situation.moves.get(target) ?? {}
    if (!before || !after) continue
    const found = await findBroughtInCommits(node, before, after, heads)
    taken.set(target, found)
    const commit = by === undefined && found.size > 0 ? await findCommit(node.repo, after) : undefined
    if (commit) committers.set(target, authorOf(commit.committer))
  }
  return reconcile({
    ...situation,
    tookIn: (target, head) => taken.get(target)?.has(head) === true,
    by: (kind, target) => by ?? (kind === 'merge' ? committers.get(target) : undefined) ?? unknown,
    at,
    via,
  })
}

/**
 * Appends events to the commit `ledger`, with current commit counts. Returns the new commit, which has no ref yet.
 *
 * @param userId the user who moved the branches; undefined if that is unknown
 */
export async function writeEvents(
  node: RepoHistory,
  ledger: Oid,
  events: readonly Reconciled[],
  userId?: string,
): Promise<Oid> {
  if (events.length === 0) return ledger
  return appendPulls(node.repo, ledger, await toActs(node, ledger, events, userId))
}

/** Returns what the ledger records of the events, with current commit counts. */
export async function toActs(
  node: RepoHistory,
  ledger: Oid,
  events: readonly Reconciled[],
  userId?: string,
): Promise<PullAct[]> {
  const written: PullAct[] = []
  for (const { kind, record } of events) {
    // The ledger's record may have fields that the index does not know.
    const before = await readPull(node.repo, ledger, record.number)
    const targets = [before.target_branch, record.target_branch]
    written.push({
      event: kind,
      record: { ...before, ...(await withCounts(node, record)) },
      ...(userId !== undefined && { userId }),
      ...(targets[0] !== targets[1] && { changes: { target_branch: targets } }),
    })
  }
  return written
}

/** Updates the commit counts. Keeps the old ones if a commit is missing. */
async function withCounts({ repo, history }: RepoHistory, record: Reconciled['record']): Promise<Reconciled['record']> {
  const { source_commit: source, target_before: target } = record
  const isThere = (await findCommit(repo, source)) && (await findCommit(repo, target))
  return isThere ? withHeads(history, record, source, target) : record
}

/** Returns the ref moves that pin the heads of closed pull requests. Skips missing heads. */
export async function pinMoves(repo: Repo, pins: readonly Pin[]): Promise<Move[]> {
  const moves: Move[] = []
  for (const { number, head } of pins) {
    if (await findCommit(repo, head)) moves.push({ repo, ref: pinRef(number), to: head })
  }
  return moves
}

export interface IndexedNode extends RepoHistory {
  readonly nodeId: string
  /** The version of the node's row from which the moves were computed. Undefined: no row yet. */
  readonly version: number | undefined
  /** The ledger commit to which the open pull requests belong. */
  readonly ledger: Oid
}

/**
 * Settles moves made outside the service, which indexing has found. Returns true if this or another process wrote the
 * ledger. Indexing then starts over.
 */
export async function reconcileFoundRefs(
  deps: Pick<Services, 'store' | 'index' | 'now'>,
  node: IndexedNode,
  situation: ReconcileInput,
): Promise<boolean> {
  const { repo, nodeId, version } = node
  const { events, pins } = await reconcileMoves(node, situation, { at: deps.now().toISOString() })
  if (events.length === 0) return false
  const ledger = { repo, ref: ledgerRef }
  await updateRefs(
    deps.store,
    [ledger, ...pins.map(({ number }) => ({ repo, ref: pinRef(number) }))],
    async (current) => {
      const row = await findNodeVersion(deps.index.read, nodeId)
      const isSame = current(ledger) === node.ledger && row?.version === version
      if (!isSame) return { moves: [], value: undefined }
      const to = await writeEvents(node, node.ledger, events)
      return { moves: [...(await pinMoves(repo, pins)), { ...ledger, to }], value: undefined }
    },
  )
  return true
}

/** The longest move whose commits are listed, 1 µs each. For longer moves, each head is checked, 200 µs each. */
const listedCommits = 2_000

/**
 * Returns the `heads` that `after` reaches and `before` does not. Returns none if `before` was garbage-collected after
 * a forced move, because the new commits are then unknown.
 */
export async function findBroughtInCommits(
  { repo, history }: { readonly repo: Repo; readonly history: History },
  before: Oid,
  after: Oid,
  heads: ReadonlySet<Oid>,
): Promise<Set<Oid>> {
  if (heads.size === 0 || !(await findCommit(repo, before))) return new Set()
  const { ahead } = await history.divergence(before, after)
  if (ahead === 0) return new Set()
  if (ahead <= listedCommits) return new Set((await history.between(before, after)).filter((oid) => heads.has(oid)))
  const taken = new Set<Oid>()
  for (const head of heads)
    if ((await history.contains(after, head)) && !(await history.contains(before, head))) taken.add(head)
  return taken
}
