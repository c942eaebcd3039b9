/** Writes comments and reviews to the ledger, in one commit for each act. */
import { findCommit, readCommit } from '../../../gitstore/objects/commits.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid } from '../../../gitstore/repo.ts'
import { findEntryById, hasEntryOn } from '../../../index/derived/entries.ts'
import { findEntriesLedger } from '../../../index/derived/node-queries.ts'
import { AppError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import type { NodeAccess } from '../access.ts'
import type { Person } from '../actor.ts'
import { branchRef, ledgerRef } from '../layout.ts'
import { changedBy } from '../ledger/changed-by.ts'
import { type EntryRecord, type EntryUser, nextEntry, parseEntry, readEntry, readEntryText } from '../ledger/entries.ts'
import { appendEntries, changedEntries, diffLedgers, type PullRecord, readPull } from '../ledger/ledger.ts'
import type { ChangedBy } from '../ledger/reconcile.ts'
import { changeLedger } from '../pulls/ledger-changes.ts'
import type { Ctx, Services } from '../services.ts'
import type { PullAt } from '../targets.ts'

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
 * Runs `decide` under the ledger's lock, writes the entries, and indexes the node. Any member may write, unless `decide`
 * refuses.
 *
 * @throws AppError pull_request_not_found; the errors of changeLedger and `decide`
 */
export function writeEntries<T>(
  ctx: Ctx<Person>,
  access: NodeAccess,
  { number }: PullAt,
  decide: (ledger: LockedLedger) => Promise<Written<T>>,
): Promise<T> {
  const { repo, node } = access
  return changeLedger(ctx, access, 'reader', async (commit) => {
    const { tree } = await readCommit(repo, commit)
    const pull = await readPull(repo, commit, number)
    const by = changedBy(ctx, ctx.actor)
    const user = { id: ctx.actor.id, ...by.by }
    const next = await nextEntry(repo, tree, number)
    const { value, message, entries = [], head } = await decide({ ...by, commit, tree, pull, user, next })
    if (message === undefined || entries.length === 0) return { moves: [], value }
    const isNew = head !== undefined && !(await hasEntryOn(ctx.index.read, node.id, head))
    const keep = isNew ? await findCommit(repo, head) : undefined
    const act = { number, message, entries, ...by, ...(keep && { keep: keep.oid }) }
    return { moves: [{ repo, ref: ledgerRef, to: await appendEntries(repo, commit, act) }], value }
  })
}

/** Refuses entries above the limit. @throws AppError too_many_comments */
export function requireRoom({ next }: LockedLedger, count: number): void {
  if (next + count - 1 > limits.entries)
    throw new AppError(
      'too_many_comments',
      `A pull request has at most ${limits.entries} comments, reviews and events; continue in another pull request`,
    )
}

/** Reads the source's head. For a pull request that has ended, it is the last one. */
export function sourceHead(
  { repo }: NodeAccess,
  pull: Pick<PullRecord, 'status' | 'source_branch' | 'source_commit'>,
): Oid {
  if (pull.status !== 'open') return pull.source_commit
  return readRef(repo, branchRef(pull.source_branch)) ?? pull.source_commit
}

/**
 * Finds an entry with this UUID in the node. Reads entries of the ledger that have no rows yet.
 *
 * @returns the pull request and the number of the entry
 */
export async function findById(deps: Services, { repo, node }: NodeAccess, ledger: Oid, id: string) {
  const { read } = deps.index
  // Reads the commit before the rows. Newer rows only add entries.
  const indexed = await findEntriesLedger(read, node.id)
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
export function entryAt({ repo }: NodeAccess, { tree, pull }: LockedLedger, entry: number) {
  return readEntry(repo, tree, pull.number, entry)
}
