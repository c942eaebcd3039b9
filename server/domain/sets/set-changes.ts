/**
 * Changes a set and the ledgers of its pages in one transaction of refs. Branches move first, then the ledgers of
 * pages, and that of sets last, so that readers of the set find the items that it names.
 */
import pLimit from 'p-limit'
import { allDone } from '../../../gitstore/durable.ts'
import { newObjectBatch, type ObjectBatch } from '../../../gitstore/objects/object-batch.ts'
import { type Current, type Move, type RefName, updateRefs } from '../../../gitstore/refs/ref-transaction.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import { listUnindexed, markIndexed } from '../../../gitstore/refs/unindexed-moves.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { repoExists } from '../../../gitstore/repo-folders.ts'
import { findOrgHead } from '../../../index/derived/org-queries.ts'
import { AppError } from '../../base/errors.ts'
import { type Need, type Rights, recheckAccess } from '../access.ts'
import type { Person } from '../actor.ts'
import { type Mover, withIntent } from '../event-log/note-intents.ts'
import { recordOrg } from '../event-log/record.ts'
import { tryIndexNode } from '../indexing/index-node.ts'
import { indexSets } from '../indexing/set-rows.ts'
import { ledgerRef, main, nodeRepo } from '../layout.ts'
import { addEntries, addEvents, type EntryAct, type PullAct } from '../ledger/ledger.ts'
import { readSet, type SetAct, type SetItem, type SetRecord, setEvents, setsOf } from '../ledger/set-ledger.ts'
import type { Ctx, Services } from '../services.ts'

/** A page that takes part in a change of a set. */
export interface Part {
  readonly access: { readonly repo: Repo; readonly node: { readonly id: string } }
  /** The refs that it moves, besides the ledger. */
  readonly refs: readonly RefName[]
  /** Decides under the locks. Reads refs by `current`, and builds objects on the draft. */
  decide(locked: LockedPage): Promise<PartOutcome>
}

export interface LockedPage {
  readonly ledger: Oid
  readonly current: Current
  readonly rights: Rights
}

export interface PartOutcome {
  /** The events that the ledger of the page records. */
  readonly acts?: readonly PullAct[]
  /** The entries that it records instead of events. */
  readonly entries?: EntryAct
  /** A saved commit of the ledger, which the events follow. Default: the locked one. */
  readonly ledger?: Oid
  /** The moves of other refs of the page, before the ledger. */
  readonly moves: readonly Move[]
  /** The moves of other refs after the ledgers. */
  readonly after?: readonly Move[]
  /** The page as a new item. Absent: the set keeps the one that it has, or gets none. */
  readonly item?: SetItem
}

export interface SetChange {
  readonly orgId: string
  readonly need: Need
  readonly parts: readonly Part[]
  /** Objects that the moves of parts need. They are saved with those of the ledgers. */
  readonly drafts: readonly ObjectBatch[]
  /** Returns the event of the set. Undefined: the set stays as it is. @param items the new items, in the order of `parts` */
  decide(sets: LockedSets, items: readonly SetItem[]): Promise<SetAct | SetEntries | undefined>
}

/** Entries of the set's conversation. Its record stays as it is. */
export interface SetEntries {
  readonly record: SetRecord
  readonly entries: EntryAct
}

export interface LockedSets {
  readonly repo: Repo
  /** Null: the organisation has no set yet. */
  readonly sets: Oid | null
}

/** Makes the change, and indexes the pages and the set. Returns the record after it. @throws errors of `decide` */
export function changeSet(ctx: Ctx<Person>, change: SetChange): Promise<SetRecord | undefined> {
  return writeSet(ctx, ctx.actor, change, () => recheckAccess(ctx, change.orgId, change.need))
}

/** Makes the change of a user or of the service. @param recheck returns the rights of the mover, under the locks */
export async function writeSet(
  deps: Services,
  mover: Mover,
  change: Omit<SetChange, 'need'>,
  recheck: () => Promise<Rights>,
): Promise<SetRecord | undefined> {
  const { orgId, parts } = change
  const own = setsOf(deps, orgId)
  const names = parts.flatMap(({ access: { repo }, refs }) => [...refs, { repo, ref: ledgerRef }])
  const record = await updateRefs(deps.store, [...names, own], async (current) => {
    const rights = await recheck()
    const refs: Move[] = []
    const ledgers: Move[] = []
    const late: Move[] = []
    const items: SetItem[] = []
    const drafts = [...change.drafts]
    for (const { access, decide } of parts) {
      const { repo, node } = access
      const ledger = current({ repo, ref: ledgerRef })
      if (ledger === null) throw new AppError('node_not_found', 'A page of the change set was deleted')
      const {
        acts = [],
        entries,
        ledger: saved = ledger,
        moves,
        after = [],
        item,
      } = await decide({ ledger, current, rights })
      const draft = newObjectBatch(repo)
      const to = entries ? await addEntries(draft, saved, entries) : await addEvents(draft, saved, acts)
      if (to !== ledger) ledgers.push({ repo, ref: ledgerRef, to })
      refs.push(...moves)
      late.push(...after)
      drafts.push(draft)
      if (item) items.push({ ...item, node_id: node.id })
    }
    const sets = current(own)
    const act = await change.decide({ repo: own.repo, sets }, items)
    const draft = newObjectBatch(own.repo)
    const last = act ? [{ ...own, to: await addToSets(draft, sets, act) }] : []
    const save = () => allDone([...drafts, draft].map((one) => one.save()))
    return withIntent(deps, mover, { moves: [...refs, ...ledgers, ...late, ...last], value: act?.record, save })
  })
  await indexChanged(deps, orgId, parts)
  return record
}

function addToSets(draft: ObjectBatch, sets: Oid | null, act: SetAct | SetEntries): Promise<Oid> {
  if (!('entries' in act)) return setEvents(draft, sets, act)
  if (sets === null) throw setNotFoundError()
  return addEntries(draft, sets, act.entries)
}

/** Nodes that are indexed side by side. */
const indexedAtOnce = 4

/** Indexes the pages and the sets. A failure is only logged: the change is made, and the sweep retries. */
async function indexChanged(deps: Services, orgId: string, parts: readonly Part[]): Promise<void> {
  const turn = pLimit(indexedAtOnce)
  await allDone(parts.map(({ access: { node } }) => turn(() => tryIndexNode(deps, orgId, node.id))))
  await tryIndexSets(deps, orgId)
}

/** Indexes the sets, and records their events if they have moved. A failure is only logged. */
export async function tryIndexSets(deps: Services, orgId: string): Promise<void> {
  const { repo } = setsOf(deps, orgId)
  const unindexed = listUnindexed(repo)
  try {
    if (await indexSets(deps, orgId)) await recordOrg(deps, orgId)
    // A move of org.git's main waits for the rows of the organisation.
    if (unindexed.length > 0 && (await findOrgHead(deps.index.read, orgId)) === readRef(repo, main))
      markIndexed(repo, unindexed)
  } catch (error) {
    deps.log.error({ err: error, orgId }, 'change sets could not be indexed; the next read retries')
  }
}

/** True if one of these pages, which were in the trash, is in place again. A set changes all of its pages or none. */
export function hasReturned({ store }: Pick<Services, 'store'>, orgId: string, gone: readonly string[]): boolean {
  return gone.some((id) => repoExists(nodeRepo(store, orgId, id)))
}

/** Reads the set under the lock of its ledger. @throws AppError change_set_not_found */
export function readLocked({ repo, sets }: LockedSets, number: number): Promise<SetRecord> {
  if (sets === null) throw setNotFoundError()
  return readSet(repo, sets, number)
}

export function setNotFoundError(): AppError {
  return new AppError('change_set_not_found', 'Change set not found')
}
