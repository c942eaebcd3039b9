/** Writes the rows of a node's entries: comments, verdicts and events of its pull requests. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { objectId } from '../../../gitstore/objects/object-format.ts'
import { readBlob, readOneOfManyBlobs } from '../../../gitstore/objects/objects.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { listBodies, listEntryKeys } from '../../../index/derived/entries.ts'
import type { NodeRow } from '../../../index/derived/node-queries.ts'
import { writeEntries } from '../../../index/derived/nodes.ts'
import type { EntryChange, EntryKey, EntryRows } from '../../../index/derived/reviews.ts'
import type { IndexDb } from '../../../index/derived/schema.ts'
import type { Deps } from '../../base/deps.ts'
import { entryFile } from '../format/paths.ts'
import { readEntryRows } from '../ledger/entries.ts'
import { type ChangedEntries, changedEntries, diffLedgers, type LedgerDiff } from '../ledger/ledger.ts'

/** The most entries of one transaction: 40 ms, because other writers wait for it. */
const entriesAtOnce = 500

type EntryFile = ChangedEntries['put'][number]

/** Reads the changed entries. Returns undefined if they are too many for one transaction. */
export async function readEntryChange(repo: Repo, nodeId: string, diff: LedgerDiff): Promise<EntryChange | undefined> {
  const { put, gone } = changedEntries(diff)
  if (put.length + (gone === 'all' ? 0 : gone.length) > entriesAtOnce) return undefined
  const rows: EntryRows[] = []
  for (const some of inParts(put)) rows.push(...(await readRows(repo, nodeId, some)))
  return { put: rows, gone }
}

/** Entries that are read at a time. A Git process answers them one after the other. */
const readsAtOnce = 100
/** For so many entries, starting a Git process costs less than searching each file. */
const many = 50

function* inParts(files: readonly EntryFile[]): Iterable<readonly EntryFile[]> {
  for (let at = 0; at < files.length; at += readsAtOnce) yield files.slice(at, at + readsAtOnce)
}

async function readRows(repo: Repo, nodeId: string, files: readonly EntryFile[]): Promise<EntryRows[]> {
  const read = files.length < many ? readBlob : readOneOfManyBlobs
  const reading = files.map(({ number, entry, blob }) => readEntryRows(repo, blob, { nodeId, number, entry }, read))
  const rows = await Promise.all(reading)
  await nextTurn()
  return rows
}

/** The most files that one line of the log names. */
const loggedFiles = 20

/** Logs files that are not entries. They are shown as damaged, and keep nothing from working. */
export function logDamagedEntries(
  { log }: Pick<Deps, 'log'>,
  node: { readonly orgId: string; readonly nodeId: string },
  rows: readonly EntryRows[],
): void {
  const damaged = rows.flatMap(({ entry: { kind, number, entry } }) =>
    kind === 'damaged' ? [entryFile(number, entry)] : [],
  )
  const { orgId, nodeId } = node
  const facts = { orgId, nodeId, count: damaged.length, damaged: damaged.slice(0, loggedFiles) }
  if (damaged.length > 0) log.error(facts, 'files of the ledger are not comments, reviews or events')
}

/** Nodes whose entries this process writes in slices now. */
const writing = new Map<string, Promise<boolean>>()

/**
 * Makes the rows of a node's entries those of the ledger, in slices. The row must be unfinished. A killed process, or
 * another one that does the same, leaves slices that are not written again. Reads of the node wait for the last one.
 *
 * @returns false if another process has changed the row: compare again
 */
export function writeEntriesInSlices(deps: Deps, repo: Repo, row: NodeRow, ledger: Oid): Promise<boolean> {
  const key = `${repo.dir} ${ledger}`
  const same = writing.get(key) ?? writeSlices(deps, repo, row, ledger).finally(() => writing.delete(key))
  writing.set(key, same)
  return same
}

async function writeSlices(deps: Deps, repo: Repo, row: NodeRow, ledger: Oid): Promise<boolean> {
  const { read, write } = deps.index
  const { put } = changedEntries(await diffLedgers(repo, null, ledger))
  const gone = await listGone(read, row.id, put)
  let { version } = row
  for (let at = 0; ; at += entriesAtOnce) {
    const change = {
      put: await readUnwritten(read, repo, row.id, put.slice(at, at + entriesAtOnce)),
      gone: gone.slice(at, at + entriesAtOnce),
    }
    const isLast = at + entriesAtOnce >= Math.max(put.length, gone.length)
    if (!isLast && change.put.length + change.gone.length === 0) continue
    const written = await write((trx) => writeEntries(trx, { ...row, version }, change, isLast ? ledger : undefined))
    if (written === undefined) return false
    logDamagedEntries(deps, { orgId: row.org_id, nodeId: row.id }, change.put)
    if (isLast) return true
    version = written
  }
}

/** Reads the entries whose rows are missing or have another file's text. */
async function readUnwritten(db: IndexDb, repo: Repo, nodeId: string, files: readonly EntryFile[]) {
  const unwritten: EntryRows[] = []
  for (const some of inParts(files)) {
    const written = new Map<string, Oid>()
    for (const { number, entry, body } of await listBodies(db, nodeId, some))
      written.set(entryFile(number, entry), await objectId('blob', Buffer.from(body)))
    const others = some.filter(({ number, entry, blob }) => written.get(entryFile(number, entry)) !== blob)
    unwritten.push(...(await readRows(repo, nodeId, others)))
  }
  return unwritten
}

/** Rows of keys that are read at a time. */
const keysAtOnce = 5_000

/** Lists the entries that have rows and no file. */
async function listGone(db: IndexDb, nodeId: string, files: readonly EntryFile[]): Promise<EntryKey[]> {
  const kept = new Set(files.map(({ number, entry }) => entryFile(number, entry)))
  const gone: EntryKey[] = []
  for (let after: EntryKey | undefined = { number: -1, entry: 0 }; after; ) {
    const keys: readonly EntryKey[] = await listEntryKeys(db, nodeId, after, keysAtOnce)
    for (const key of keys) if (!kept.has(entryFile(key.number, key.entry))) gone.push(key)
    after = keys.length === keysAtOnce ? keys.at(-1) : undefined
    await nextTurn()
  }
  return gone
}
