/**
 * The ledger of change sets: `refs/grove/sets` of org.git, with the files of a node's ledger. A set lists pull requests
 * of pages, its items. Only the ledger of its node says whether an item is open, merged or closed.
 */
import { createHash } from 'node:crypto'
import { readCommit } from '../../../gitstore/objects/commits.ts'
import type { ObjectBatch } from '../../../gitstore/objects/object-batch.ts'
import { readBlob } from '../../../gitstore/objects/objects.ts'
import { findEntry } from '../../../gitstore/objects/trees.ts'
import type { RefName } from '../../../gitstore/refs/ref-transaction.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { setIdFile } from '../format/paths.ts'
import { orgRepo, setsRef } from '../layout.ts'
import type { Services } from '../services.ts'
import { addEvents, type LedgerAct, type PullRecord, readLastNumber, readRecordAt } from './ledger.ts'

/** The effect of an item on its page. It follows from the page and the tree of the item's head. */
export type Act = 'change' | 'create' | 'delete' | 'restore'

/** An item: a pull request of a page, into `main`. */
export interface SetItem {
  readonly node_id: string
  /** The number of the pull request in the ledger of the node. */
  readonly number: number
  readonly act: Act
  /** The head of `main` before the merge. Null: it did not exist. Absent until the set has ended. */
  readonly base?: Oid | null
  /** The head of the item's branch at the end of the set. */
  readonly head?: Oid
}

/** `pulls/…/<n>.json` of the ledger: a change set after its last event. */
export interface SetRecord
  extends Pick<
    PullRecord,
    | 'id'
    | 'number'
    | 'title'
    | 'description'
    | 'status'
    | 'is_draft'
    | 'author'
    | 'author_id'
    | 'reviewers'
    | 'created_at'
    | 'by'
    | 'at'
    | 'via'
    | 'opened_via'
    | 'ended'
    | 'overridden'
    | 'erased'
  > {
  readonly items: readonly SetItem[]
}

export type SetAct = LedgerAct<SetRecord>

/** Returns a set as the pull request of its organisation. Fields about branches have no meaning for it. */
export function asPull({ items: _, ...record }: SetRecord): PullRecord {
  const none = { source_commit: '', target_before: '', commits_ahead: 0, commits_behind: 0 }
  return { ...record, ...none, source_branch: `sets/${record.number}`, target_branch: 'main' }
}

/** Returns the name of the ledger of an organisation's change sets. */
export function setsOf({ store }: Pick<Services, 'store'>, orgId: string): RefName {
  return { repo: orgRepo(store, orgId), ref: setsRef }
}

/** Reads a change set at a commit of the ledger. @throws GitError object_damaged: there is none of this number */
export function readSet(repo: Repo, sets: Oid, number: number): Promise<SetRecord> {
  return readRecordAt<SetRecord>(repo, sets, number)
}

/** Returns the number of the set with this id. Undefined if there is none, or no set at all (null). */
export async function findSetNumber(repo: Repo, sets: Oid | null, id: string): Promise<number | undefined> {
  if (sets === null) return undefined
  const entry = await findEntry(repo, (await readCommit(repo, sets)).tree, setIdFile(id))
  return entry ? Number((await readBlob(repo, entry.oid)).toString()) : undefined
}

/** Reads the set with this id. Undefined if there is none, or no set at all (null). */
export async function readSetById(repo: Repo, sets: Oid | null, id: string): Promise<SetRecord | undefined> {
  const number = await findSetNumber(repo, sets, id)
  return sets === null || number === undefined ? undefined : readSet(repo, sets, number)
}

/** Returns the number that the next set gets. The caller holds the lock of the ledger. */
export async function nextSetNumber(repo: Repo, sets: Oid | null): Promise<number> {
  return sets === null ? 1 : (await readLastNumber(repo, sets)) + 1
}

/** Builds the commit of one event on the draft. The caller holds the lock of the ledger. */
export function setEvents(draft: ObjectBatch, sets: Oid | null, act: SetAct): Promise<Oid> {
  return addEvents(draft, sets, [act], ({ event, record: { id, number } }) =>
    event === 'open' ? [{ path: setIdFile(id), value: number }] : [],
  )
}

/** The head of an item. */
interface ItemHead {
  readonly node_id: string
  readonly head: Oid
}

/** Returns the version of a set: a hash of its pages and their heads. It is what a reviewer has read. */
export function versionOf(items: readonly ItemHead[]): string {
  const lines = items.map(({ node_id, head }) => `${node_id} ${head}\n`).sort()
  return createHash('sha1').update(lines.join('')).digest('hex')
}
