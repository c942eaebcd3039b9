/** Writes the rows of a node's entries: comments, verdicts and events of its pull requests. Also those of checks. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { objectId } from '../../../gitstore/objects/object-format.ts'
import { readBlob, readOneOfManyBlobs } from '../../../gitstore/objects/objects.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { listBodies, listEntryKeys } from '../../../index/derived/entries.ts'
import type { NodeRow } from '../../../index/derived/node-queries.ts'
import { writeEntries } from '../../../index/derived/nodes.ts'
import type { EntryChange, EntryKey, EntryRows } from '../../../index/derived/reviews.ts'
import type { IndexDb } from '../../../index/derived/schema.ts'
import { checksFile, entryFile } from '../format/paths.ts'
import { readEntryRows } from '../ledger/entries.ts'
import { type ChangedEntries, changedEntries, diffLedgers, type LedgerDiff } from '../ledger/ledger.ts'
import type { Services } from '../services.ts'
import { checkSlices, readChecksChange } from './check-rows.ts'

/** The most entries of one transaction: 40 ms, because other writers wait for it. */
const entriesAtOnce = 500

type EntryFile = ChangedEntries['put'][number]

/** Reads the changed entries and checks. Returns undefined if they are too many for one transaction. */
export async function readEntryChange(repo: Repo, nodeId: string, diff: LedgerDiff): Promise<EntryChange | undefined> {
  const { put, gone } = changedEntries(diff)
  if (put.length + (gone === 'all' ? 0 : gone.length) > entriesAtOnce) return undefined
  const checks = await readChecksChange(repo, nodeId, diff)
  if (checks === undefined) return undefined
  const rows: EntryRows[] = []
  for (const some of inParts(put)) rows.push(...(await readRows(repo, nodeId, some)))
  return { put: rows, gone, checks }
}

/** Reads the changed entries in parts, each for one transaction. The first one has those that are gone. */
export async function* entryParts(repo: Repo, nodeId: string, diff: LedgerDiff): AsyncIterable<EntryChange> {
  const { put, gone } = changedEntries(diff)
  const checks = { put: [], gone: [] }
  if (put.length === 0 && gone.length === 0) return
  for (let at = 0; at === 0 || at < put.length; at += entriesAtOnce) {
    const rows: EntryRows[] = []
    for (const some of inParts(put.slice(at, at + entriesAtOnce))) rows.push(...(await readRows(repo, nodeId, some)))
    yield { put: rows, gone: at === 0 ? gone : [], checks }
  }
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

/** The services that writing entries uses. */
export interface SliceDeps extends Pick<Services, 'index'> {
  readonly log: Pick<Services['log'], 'error'>
}

/** Logs files that are not entries. They are shown as damaged, and keep nothing from working. */
export function logDamagedEntries(
  { log }: Pick<SliceDeps, 'log'>,
  node: { readonly orgId: string; readonly nodeId: string },
  { put, checks }: EntryChange,
): void {
  const { orgId, nodeId } = node
  const say = (damaged: readonly string[], message: string) => {
    const facts = { orgId, nodeId, count: damaged.length, damaged: damaged.slice(0, loggedFiles) }
    if (damaged.length > 0) log.error(facts, message)
  }
  const entries = put.filter(({ entry }) => entry.kind === 'damaged')
  say(
    entries.map(({ entry: { number, entry } }) => entryFile(number, entry)),
    'files of the ledger are not comments, reviews or events',
  )
  const files = checks.put.filter(({ rows }) => rows.some(({ state }) => state === 'damaged'))
  say(
    files.map(({ commit }) => checksFile(commit)),
    'files of the ledger are not checks of commits',
  )
}

/** Nodes whose entries this process writes in slices now. */
const writing = new Map<string, Promise<boolean>>()

/**
 * Makes the rows of a node's entries those of the ledger, in slices. The row must be unfinished. A killed process, or
 * another one that does the same, leaves slices that are not written again. Reads of the node wait for the last one.
 *
 * @returns false if another process has changed the row: compare again
 */
export function writeEntriesInSlices(deps: SliceDeps, repo: Repo, row: NodeRow, ledger: Oid): Promise<boolean> {
  const key = `${repo.dir} ${ledger}`
  const same = writing.get(key) ?? writeSlices(deps, repo, row, ledger).finally(() => writing.delete(key))
  writing.set(key, same)
  return same
}

async function writeSlices(deps: SliceDeps, repo: Repo, row: NodeRow, ledger: Oid): Promise<boolean> {
  const { read, write } = deps.index
  const diff = await diffLedgers(repo, null, ledger)
  const node = { orgId: row.org_id, nodeId: row.id }
  let { version } = row
  const writeSome = async (change: EntryChange, until?: Oid): Promise<boolean> => {
    const written = await write((trx) => writeEntries(trx, { ...row, version }, change, until))
    if (written === undefined) return false
    logDamagedEntries(deps, node, change)
    version = written
    return true
  }
  for await (const some of entrySlices(read, repo, row.id, diff))
    if (!(await writeSome({ ...some, checks: none }))) return false
  for await (const checks of checkSlices(read, repo, row.id, diff))
    if (!(await writeSome({ ...none, checks }))) return false
  return writeSome({ ...none, checks: none }, ledger)
}

const none = { put: [], gone: [] }

async function* entrySlices(db: IndexDb, repo: Repo, nodeId: string, diff: LedgerDiff) {
  const { put } = changedEntries(diff)
  const gone = await listGone(db, nodeId, put)
  for (let at = 0; at < Math.max(put.length, gone.length); at += entriesAtOnce) {
    const unwritten = await readUnwritten(db, repo, nodeId, put.slice(at, at + entriesAtOnce))
    const some = { put: unwritten, gone: gone.slice(at, at + entriesAtOnce) }
    if (some.put.length + some.gone.length > 0) yield some
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
