/** Writes comments and reviews to the ledger, in one commit for each act. */
import { findCommit, readCommit } from '../../../gitstore/objects/commits.ts'
import type { Oid } from '../../../gitstore/repo.ts'
import { findSetsCommit } from '../../../index/derived/change-sets.ts'
import { findEntryById, hasEntryOn } from '../../../index/derived/entries.ts'
import { findEntriesLedger } from '../../../index/derived/node-queries.ts'
import { AppError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import type { LedgerAccess } from '../access.ts'
import type { Person } from '../actor.ts'
import { ledgerRef } from '../layout.ts'
import { changedBy } from '../ledger/changed-by.ts'
import { type EntryRecord, type EntryUser, nextEntry, parseEntry, readEntry, readEntryText } from '../ledger/entries.ts'
import {
  appendEntries,
  changedEntries,
  diffLedgers,
  type EntryAct,
  type PullRecord,
  readPull,
} from '../ledger/ledger.ts'
import type { ChangedBy } from '../ledger/reconcile.ts'
import { asPull } from '../ledger/set-ledger.ts'
import { changeLedger } from '../pulls/ledger-changes.ts'
import type { Ctx, Services } from '../services.ts'
import { changeSet, type LockedSets, type Part, readLocked } from '../sets/set-changes.ts'
import type { PullAt } from '../targets.ts'
import { isOfSets } from './conversations.ts'

/** The ledger while its lock is held. */
export interface LockedLedger extends ChangedBy {
  readonly commit: Oid
  readonly tree: Oid
  /** The pull request. */
  readonly pull: PullRecord
  /** The caller, as entries name them. */
  readonly user: EntryUser
  /** The number of the next entry. */
  readonly next: number
}

/** Entries to write. Undefined: nothing changes. */
export interface Written<T> {
  readonly value: T
  readonly message?: string
  readonly entries?: readonly { readonly entry: number; readonly record: EntryRecord }[]
  /** The head that new entries are written on. */
  readonly head?: Oid
}

/**
 * Runs `decide` under the ledger's lock, writes the entries, and indexes them. Any member may write, unless `decide`
 * refuses.
 *
 * @param parts for a change set, the pages that change with it
 * @throws AppError pull_request_not_found; the errors of changeLedger and `decide`
 */
export async function writeEntries<T>(
  ctx: Ctx<Person>,
  access: LedgerAccess,
  { number }: PullAt,
  decide: (ledger: LockedLedger) => Promise<Written<T>>,
  parts: readonly Part[] = [],
): Promise<T> {
  const { repo, node, org } = access
  const write = async (commit: Oid, pull: PullRecord): Promise<{ readonly value: T; readonly act?: EntryAct }> => {
    const { tree } = await readCommit(repo, commit)
    const by = changedBy(ctx, ctx.actor)
    const user = { id: ctx.actor.id, ...by.by }
    const next = await nextEntry(repo, tree, number)
    const { value, message, entries = [], head } = await decide({ ...by, commit, tree, pull, user, next })
    if (message === undefined || entries.length === 0) return { value }
    const isNew = head !== undefined && !(await hasEntryOn(ctx.index.read, node.id, head))
    const keep = isNew ? await findCommit(repo, head) : undefined
    return { value, act: { number, message, entries, ...by, ...(keep && { keep: keep.oid }) } }
  }
  if (!isOfSets(access))
    return changeLedger(ctx, access, 'reader', async (commit) => {
      const { value, act } = await write(commit, await readPull(repo, commit, number))
      const moves = act ? [{ repo, ref: ledgerRef, to: await appendEntries(repo, commit, act) }] : []
      return { moves, value }
    })
  const values: T[] = []
  const decideSet = async (locked: LockedSets) => {
    const record = await readLocked(locked, number)
    const { value, act } = await write(locked.sets ?? '', asPull(record))
    values.push(value)
    return act && { record, entries: act }
  }
  await changeSet(ctx, { orgId: org.id, need: 'reader', parts, drafts: [], decide: decideSet })
  return values[0] as T // `decideSet` has run
}

/** Refuses entries above the limit. @throws AppError too_many_comments */
export function requireRoom({ next }: LockedLedger, count: number): void {
  if (next + count - 1 > limits.entries)
    throw new AppError(
      'too_many_comments',
      `A pull request has at most ${limits.entries} comments, reviews and events; continue in another pull request`,
    )
}

/**
 * Finds an entry with this UUID in the node. Reads entries of the ledger that have no rows yet.
 *
 * @returns the pull request and the number of the entry
 */
export async function findById(deps: Services, access: LedgerAccess, ledger: Oid, id: string) {
  const { repo, node } = access
  const { read } = deps.index
  // Reads the commit before the rows. Newer rows only add entries.
  const indexed = await (isOfSets(access) ? findSetsCommit : findEntriesLedger)(read, node.id)
  const found = await findEntryById(read, node.id, id)
  if (found || indexed === ledger) return found
  for (const { blob, number, entry } of changedEntries(await diffLedgers(repo, indexed ?? null, ledger)).put) {
    const record = parseEntry(await readEntryText(repo, blob))
    if ((record.kind === 'comment' || record.kind === 'verdict') && record.id === id)
      return { number, entry, kind: record.kind }
  }
  return undefined
}

/** Reads an entry at the locked commit. */
export function entryAt({ repo }: LedgerAccess, { tree, pull }: LockedLedger, entry: number) {
  return readEntry(repo, tree, pull.number, entry)
}
