/**
 * Moves pages back from the trash. Nothing changes there, so their open pull requests may name a change set that has
 * left them out or has closed.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { readCommit } from '../../../gitstore/objects/commits.ts'
import { newObjectBatch, type ObjectBatch } from '../../../gitstore/objects/object-batch.ts'
import { emptyTree } from '../../../gitstore/objects/trees.ts'
import { type Move, type RefName, updateRefs } from '../../../gitstore/refs/ref-transaction.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { moveRepo } from '../../../gitstore/repo-folders.ts'
import { type Mover, noteIntents } from '../event-log/note-intents.ts'
import { authorOf } from '../format/signatures.ts'
import { historyOf } from '../history.ts'
import type { TrashedNode } from '../indexing/stored-repositories.ts'
import { branchRef, ledgerRef, nodeRepo, pinRef } from '../layout.ts'
import { addEvents, type PullAct, type PullRecord } from '../ledger/ledger.ts'
import { endPull, freezePull, openPullsAt } from '../ledger/pull-ledger.ts'
import type { ChangedBy } from '../ledger/reconcile.ts'
import { readSetById, setsOf } from '../ledger/set-ledger.ts'
import type { Services } from '../services.ts'

/** Removes the lock of a copy's ledger. A deletion that was killed after its commit point leaves it. */
export function unlockCopy({ repo }: TrashedNode): Promise<void> {
  return rm(join(repo.dir, `${ledgerRef}.lock`), { force: true })
}

/**
 * Renames the copy into place. A pull request whose change set does not list it any more leaves the set. It closes if
 * the set has ended, or if it deletes the page.
 *
 * @throws GitError repo_exists, repo_missing, busy
 */
export async function moveBack(deps: Services, orgId: string, copy: TrashedNode, by: Mover): Promise<void> {
  const { repo, nodeId } = copy
  const place = nodeRepo(deps.store, orgId, nodeId)
  const move = async () => {
    await noteIntents(deps, by, [{ repo: place, ref: ledgerRef, to: readRef(repo, ledgerRef) }])
    await moveRepo(repo.dir, place.dir)
  }
  if ((await itemsOf(deps, copy, readRef(repo, ledgerRef))).length === 0) return move()
  const sets = setsOf(deps, orgId)
  // No set changes before the page is in place.
  await updateRefs(deps.store, [sets], async (current) => {
    await leaveSets(deps, copy, by, { ...sets, to: current(sets) })
    await move()
    return { moves: [], value: undefined }
  })
}

/** Lists the open pull requests that name a change set. */
async function itemsOf({ index }: Services, { repo, nodeId }: TrashedNode, ledger: Oid | null): Promise<PullRecord[]> {
  const open = ledger === null ? [] : await openPullsAt(index.read, { repo, nodeId }, ledger)
  return open.filter(({ change_set }) => change_set !== undefined)
}

/** Ends what sets have ended. @param sets the ledger of sets, and its commit */
async function leaveSets(deps: Services, copy: TrashedNode, by: Mover, sets: RefName & { to: Oid | null }) {
  const { repo, nodeId } = copy
  const ledger = { repo, ref: ledgerRef }
  const pins = (await itemsOf(deps, copy, readRef(repo, ledgerRef))).map((one) => ({ repo, ref: pinRef(one.number) }))
  const event: ChangedBy = { by: authorOf(by), at: deps.now().toISOString() }
  await updateRefs(deps.store, [...pins, ledger], async (current) => {
    const from = current(ledger)
    const acts: PullAct[] = []
    const moves: Move[] = []
    for (const record of await itemsOf(deps, copy, from)) {
      const act = await actOn(deps, { repo, nodeId }, record, event, sets)
      if (act === undefined) continue
      acts.push({ ...act, ...(by.id !== undefined && { userId: by.id }) })
      if (act.event === 'close') moves.push({ repo, ref: pinRef(record.number), to: act.record.source_commit })
    }
    if (from === null || acts.length === 0) return { moves: [], value: undefined }
    const draft: ObjectBatch = newObjectBatch(repo)
    moves.push({ ...ledger, to: await addEvents(draft, from, acts) })
    return { moves, value: undefined, save: draft.save }
  })
}

/** The event of an item that its set has left behind. Undefined: the set is open, and lists it. */
async function actOn(
  deps: Services,
  { repo, nodeId }: { readonly repo: Repo; readonly nodeId: string },
  record: PullRecord,
  event: ChangedBy,
  sets: RefName & { to: Oid | null },
): Promise<PullAct | undefined> {
  const { change_set: id = '', via: _, ...before } = record
  const set = await readSetById(sets.repo, sets.to, id)
  const isListed = set?.items.some((item) => item.node_id === nodeId && item.number === record.number) === true
  if (isListed && set?.status === 'open') return undefined
  const head = readRef(repo, branchRef(record.source_branch))
  const isDeletion = head !== null && (await readCommit(repo, head)).tree === emptyTree
  if (!isListed && !isDeletion) return { event: 'edit', record: { ...before, ...event }, changes: {} }
  const frozen = await freezePull({ repo, history: historyOf(deps, nodeId, repo) }, before)
  const closed = endPull(frozen, 'closed', event)
  return { event: 'close', record: isListed ? { ...closed, change_set: id } : closed }
}
