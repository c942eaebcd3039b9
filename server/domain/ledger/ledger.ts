/** The ledger of a node, `refs/grove/ledger`: events as JSON files in commits. */

import { GitError, isGitError } from '../../../gitstore/errors.ts'
import { findCommit, readCommit } from '../../../gitstore/objects/commits.ts'
import { diffTrees, type TreeChange } from '../../../gitstore/objects/diff.ts'
import { readKeptBlob } from '../../../gitstore/objects/kept-blobs.ts'
import { newObjectBatch, type ObjectDraft } from '../../../gitstore/objects/object-batch.ts'
import { readBlob } from '../../../gitstore/objects/objects.ts'
import { applyChanges } from '../../../gitstore/objects/tree-changes.ts'
import { findEntry, readTree } from '../../../gitstore/objects/trees.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { repoExists } from '../../../gitstore/repo-folders.ts'
import { createYielder } from '../../../gitstore/yielder.ts'
import {
  checksFile,
  entryFile,
  lastNumberFile,
  nodeFile,
  parseChecksFile,
  parseEntryFile,
  pullFile,
  pullsFolder,
  pushedFile,
} from '../format/paths.ts'
import { type Author, asJson, signature } from '../format/signatures.ts'
import { ledgerRef } from '../layout.ts'
import type { RecordedVia } from '../via.ts'
import { type EntryRecord, type EntryUser, type Erased, type EventRecord, isFile, nextEntry } from './entries.ts'

/** `node.json` of the ledger: the node's fields at its creation. */
export interface NodeRecord {
  readonly id: string
  readonly org_id: string
  readonly title: string
  readonly created_at: string
  /**
   * Absent for a node that is there. A `proposed` one is not there yet, and a `deleted` one no longer. A later version
   * may write other words.
   */
  readonly state?: string
  /** The UUID of the change set that proposes the node. */
  readonly proposed_in?: string
  /** The import that created it in spite of rules. */
  readonly overridden?: Omit<Overridden, 'reasons'>
}

/** `pulls/<n div 10000>/<n div 100 mod 100>/<n>.json`: a pull request after its last event. */
export interface PullRecord {
  readonly id: string
  readonly number: number
  readonly title: string
  readonly description: string
  readonly source_branch: string
  readonly target_branch: string
  readonly status: 'open' | 'merged' | 'closed'
  readonly is_draft: boolean
  readonly author: Author
  /** The user id of `author`. Absent if an older version opened it. */
  readonly author_id?: string
  /** Users who were asked for a review. Absent if there are none. */
  readonly reviewers?: readonly Reviewer[]
  readonly created_at: string
  /**
   * Author and time of the last event. Name and e-mail are empty if unknown, as for branches moved outside the service.
   */
  readonly by: Author
  readonly at: string
  /** How it was opened. Absent for a session, and if an older version opened it. */
  readonly opened_via?: RecordedVia
  /** How the last event came about. */
  readonly via?: RecordedVia | undefined
  /** Author, time and way of the merge or closing. Later edits do not change it. Absent while it is open. */
  readonly ended?: { readonly by: Author; readonly at: string; readonly via?: RecordedVia | undefined }
  /** The source's head at the last event. Final once the pull request has ended. */
  readonly source_commit: Oid
  /**
   * The target's head before the merge, or at the last event. `noOid` if it had none, because the pull request creates
   * the node. An older version then reads the record, but not its commits and changes.
   */
  readonly target_before: Oid
  readonly commits_ahead: number
  readonly commits_behind: number
  /** The target before it was deleted and the pull request fell back to main. Approvals for it may still hold. */
  readonly stacked_on?: string
  /** The UUID of the change set that the pull request belongs to. Absent without one. */
  readonly change_set?: string
  /** The merge in spite of rules that held it up. */
  readonly overridden?: Overridden
  /** Set if title and description were erased from the whole history. */
  readonly erased?: Erased
}

/** An owner's merge, or import, in spite of rules. */
export interface Overridden {
  readonly by: { readonly id: string; readonly name: string }
  /** ISO 8601. */
  readonly at: string
  /** Why the owner overrode the rules. */
  readonly reason: string
  /** The reasons that held it up. */
  readonly reasons: readonly string[]
}

/** A user who was asked for a review. */
export interface Reviewer {
  readonly id: string
  readonly name: string
  /** ISO 8601. */
  readonly since: string
}

/** An event of a ledger, with the record after it. */
export interface LedgerAct<R> {
  readonly event: PullEvent
  readonly record: R
  /** The user id of `record.by`. Absent if only Git knows who moved a branch. */
  readonly userId?: string
  /** The changed fields, each with its value before and after. */
  readonly changes?: EventRecord['changes']
}

export type PullAct = LedgerAct<PullRecord>

/** The fields of a record that every event needs. */
type Numbered = Pick<PullRecord, 'number' | 'by' | 'at'>

type PullEvent = 'open' | 'edit' | 'request_review' | 'merge' | 'close' | 'reopen'

/** Creates the first commit of a ledger on the draft of a new repository. */
export async function startLedger(draft: ObjectDraft, record: NodeRecord, by: Author): Promise<Oid> {
  const changes = [
    { path: nodeFile, blob: await draft.blob(asJson(record)) },
    { path: lastNumberFile, blob: await draft.blob(Buffer.from('0\n')) },
  ]
  const person = signature(by, record.created_at)
  const tree = await applyChanges(draft, null, changes)
  return draft.commit({ tree, parents: [], author: person, committer: person, message: 'create' })
}

/**
 * Appends several events, one commit each, and saves all objects at once. The caller holds the ledger's lock, so numbers
 * are unique and without gaps. Each event but the first is also an entry, which completes the timeline.
 */
export async function appendPulls(repo: Repo, ledger: Oid, acts: readonly PullAct[]): Promise<Oid> {
  const draft = newObjectBatch(repo)
  const tip = await addEvents(draft, ledger, acts)
  await draft.save()
  return tip
}

/**
 * Builds the commits of events on the draft, and returns the last one.
 *
 * @param ledger null: the ref does not exist yet
 * @param besides further files of an event
 */
export async function addEvents<R extends Numbered>(
  draft: ObjectDraft,
  ledger: Oid | null,
  acts: readonly LedgerAct<R>[],
  besides: (act: LedgerAct<R>) => readonly LedgerFile[] = () => [],
): Promise<Oid> {
  let tip = ledger
  let tree = ledger === null ? null : (await readCommit(draft.repo, ledger)).tree
  for (const act of acts) {
    const { event, record, userId, changes } = act
    const { number, by, at } = record
    const files: LedgerFile[] = [{ path: pullFile(number), value: record }, ...besides(act)]
    if (event !== 'open' && tree !== null) {
      const entry = await nextEntry(draft.repo, tree, number)
      const user: EntryUser = { ...(userId !== undefined && { id: userId }), ...by }
      const value: EventRecord = { kind: 'event', event, by: user, at, ...(changes && { changes }) }
      files.push({ path: entryFile(number, entry), value })
    }
    const message = `${event === 'request_review' ? 'request-review' : event} ${number}`
    const lastNumber = event === 'open' ? number : undefined
    tree = await applyFiles(draft, tree, files, lastNumber)
    tip = await commitTree(draft, tree, tip === null ? [] : [tip], { by, at, message })
  }
  if (tip === null) throw new Error('A ledger begins with an event')
  return tip
}

/** A file of a ledger. Its value is written as JSON. */
export interface LedgerFile {
  readonly path: string
  readonly value: unknown
}

/** Builds a commit that replaces the record of the node. Returns it. The caller holds the ledger's lock. */
export async function addNodeRecord(
  draft: ObjectDraft,
  ledger: Oid,
  record: NodeRecord,
  act: LedgerCommit,
): Promise<Oid> {
  const { tree } = await readCommit(draft.repo, ledger)
  return commitTree(draft, await applyFiles(draft, tree, [{ path: nodeFile, value: record }]), [ledger], act)
}

interface LedgerCommit {
  readonly by: Author
  /** ISO 8601. */
  readonly at: string
  readonly message: string
}

async function applyFiles(
  draft: ObjectDraft,
  tree: Oid | null,
  files: readonly LedgerFile[],
  lastNumber?: number,
): Promise<Oid> {
  const changes = []
  for (const { path, value } of files) changes.push({ path, blob: await draft.blob(asJson(value)) })
  if (lastNumber !== undefined)
    changes.push({ path: lastNumberFile, blob: await draft.blob(Buffer.from(`${lastNumber}\n`)) })
  return applyChanges(draft, tree, changes)
}

function commitTree(draft: ObjectDraft, tree: Oid, parents: Oid[], { by, at, message }: LedgerCommit): Promise<Oid> {
  const person = signature(by, at)
  return draft.commit({ tree, parents, author: person, committer: person, message })
}

/** Entries of one pull request that are written together. */
export interface EntryAct extends LedgerCommit {
  readonly number: number
  readonly entries: readonly { readonly entry: number; readonly record: EntryRecord }[]
  /**
   * A head that no earlier entry was written on. It becomes the second parent, so that it stays reachable after a
   * forced push.
   */
  readonly keep?: Oid
}

/** Writes entries in one commit and saves the objects. The caller holds the ledger's lock. */
export async function appendEntries(repo: Repo, ledger: Oid, act: EntryAct): Promise<Oid> {
  const draft = newObjectBatch(repo)
  const tip = await addEntries(draft, ledger, act)
  await draft.save()
  return tip
}

/** Builds the commit of entries on the draft, and returns it. */
export async function addEntries(draft: ObjectDraft, ledger: Oid, act: EntryAct): Promise<Oid> {
  const files = act.entries.map(({ entry, record }) => ({ path: entryFile(act.number, entry), value: record }))
  const tree = await applyFiles(draft, (await readCommit(draft.repo, ledger)).tree, files)
  return commitTree(draft, tree, act.keep === undefined ? [ledger] : [ledger, act.keep], act)
}

/** The checks of one commit after a report. */
interface ChecksAct extends LedgerCommit {
  readonly commit: Oid
  /** The whole file. */
  readonly file: object
  /** The commit, if nothing else keeps it reachable. It becomes the second parent. */
  readonly keep?: Oid
}

/** Writes the checks of a commit and saves the objects. The caller holds the ledger's lock. */
export async function appendChecks(repo: Repo, ledger: Oid, act: ChecksAct): Promise<Oid> {
  const draft = newObjectBatch(repo)
  const files = [{ path: checksFile(act.commit), value: act.file }]
  const tree = await applyFiles(draft, (await readCommit(repo, ledger)).tree, files)
  const tip = await commitTree(draft, tree, act.keep === undefined ? [ledger] : [ledger, act.keep], act)
  await draft.save()
  return tip
}

/** Commits that users pushed, though other users are their authors. */
interface PushedAct extends Omit<LedgerCommit, 'message'> {
  readonly commits: readonly Oid[]
  readonly userIds: readonly string[]
}

/** The subject of a commit that records pushed commits. It is not an event, because moves of branches are. */
export const pushedSubject = 'push'

/** Records who pushed commits, and saves the objects. Returns the new ledger commit. The caller holds the lock. */
export async function appendPushed(repo: Repo, ledger: Oid, { commits, userIds, ...act }: PushedAct): Promise<Oid> {
  const { tree } = await readCommit(repo, ledger)
  const files: LedgerFile[] = []
  const findPushers = openPushers(repo, tree)
  for (const commit of commits) {
    const known = await findPushers(commit)
    const by = [...new Set([...known, ...userIds])]
    if (by.length > known.length) files.push({ path: pushedFile(commit), value: { by } })
  }
  if (files.length === 0) return ledger
  const draft = newObjectBatch(repo)
  const tip = await commitTree(draft, await applyFiles(draft, tree, files), [ledger], {
    ...act,
    message: pushedSubject,
  })
  await draft.save()
  return tip
}

/** Reads who pushed a commit by another author. Returns ids of users. */
export type FindPushers = (commit: Oid) => Promise<readonly string[]>

/**
 * Opens the records of pushed commits at a ledger commit's tree. Reads each folder and each content once, because 30,000
 * commits of one push have 256 folders and one content.
 */
export function openPushers(repo: Repo, tree: Oid): FindPushers {
  const folders = new Map<string, ReadonlyMap<string, Oid>>()
  const contents = new Map<Oid, readonly string[]>()
  return async (commit) => {
    const path = pushedFile(commit)
    const at = path.lastIndexOf('/')
    const folder = folders.get(path.slice(0, at)) ?? (await readFolder(repo, tree, path.slice(0, at)))
    folders.set(path.slice(0, at), folder)
    const blob = folder.get(path.slice(at + 1))
    if (blob === undefined) return []
    const by = contents.get(blob) ?? parse<{ readonly by: readonly string[] }>(await readKeptBlob(repo, blob)).by
    contents.set(blob, by)
    return by
  }
}

/** Reads the files of a folder by name. Empty without the folder. */
async function readFolder(repo: Repo, tree: Oid, path: string): Promise<ReadonlyMap<string, Oid>> {
  const folder = await findEntry(repo, tree, path)
  return new Map(folder ? (await readTree(repo, folder.oid)).map(({ name, oid }) => [name, oid]) : [])
}

export async function readNodeRecord(repo: Repo, ledger: Oid): Promise<NodeRecord> {
  const record = await readJsonAt<NodeRecord>(repo, ledger, nodeFile, readKeptBlob)
  if (typeof record.title === 'string' && typeof record.created_at === 'string') return record
  throw new GitError('object_damaged', 'The ledger does not describe the node')
}

/** Reads the state of a node. A deleted one is `hidden`, and one in a state of a later version. */
async function readNodeState(repo: Repo, ledger: Oid): Promise<NodeState> {
  return stateOfNode(await readNodeRecord(repo, ledger))
}

type NodeState = 'there' | 'proposed' | 'hidden'

export function stateOfNode({ state }: NodeRecord): NodeState {
  return state === undefined ? 'there' : state === 'proposed' ? state : 'hidden'
}

/** True if the node is hidden from readers, because it is only proposed, or deleted. Its repository is in place. */
export async function isHidden(repo: Repo, ledger: Oid): Promise<boolean> {
  return (await readNodeState(repo, ledger)) !== 'there'
}

/**
 * True if an object is missing because others have moved what was read. The repository is in the trash then, or an
 * erasure has replaced this version of the ledger.
 */
export function isReplaced(error: unknown, repo: Repo, ledger?: Oid): boolean {
  if (!isGitError(error, 'object_missing', 'repo_missing')) return false
  return !repoExists(repo) || (ledger !== undefined && readRef(repo, ledgerRef) !== ledger)
}

/** Returns the highest number used, or 0 before the first. */
export async function readLastNumber(repo: Repo, ledger: Oid): Promise<number> {
  return Number((await readFileAt(repo, ledger, lastNumberFile)).toString())
}

export async function readPull(repo: Repo, ledger: Oid, number: number): Promise<PullRecord> {
  return readRecordAt<PullRecord>(repo, ledger, number)
}

/** Reads the record of a pull request or a change set after its last event. */
export function readRecordAt<R extends Numbered>(repo: Repo, ledger: Oid, number: number): Promise<R> {
  return readJsonAt<R>(repo, ledger, pullFile(number))
}

export interface ChangedPulls<R = PullRecord> {
  /** Records of the later version. */
  readonly records: readonly R[]
  /** Numbers that no longer exist. An older copy replaced the repository, or the ledger was moved back. */
  readonly gone: readonly number[]
}

/** The files that differ between two versions of a ledger. */
export interface LedgerDiff {
  /** False if the earlier version is missing. Then `changes` has every file of the later one. */
  readonly isComplete: boolean
  readonly changes: readonly TreeChange[]
}

/** The most of a ledger that is compared. Only Grove writes it. A merged pull request has 5 names of 20 characters. */
const largest = { entries: 4_000_000, characters: 80_000_000 }

/** Compares two versions of a ledger. The earlier one may be null or missing. */
export async function diffLedgers(repo: Repo, before: Oid | null, after: Oid): Promise<LedgerDiff> {
  if (before === after) return { isComplete: true, changes: [] }
  const base = before === null ? undefined : await findCommit(repo, before)
  const { tree } = await readCommit(repo, after)
  const diff = (from: Oid | null) => diffTrees(repo, from, tree, createYielder(), largest)
  if (base === undefined) return { isComplete: false, changes: await diff(null) }
  try {
    return { isComplete: true, changes: await diff(base.tree) }
  } catch (error) {
    if (!isGitError(error, 'object_missing')) throw error
    // An erasure has removed the earlier version. Its commit was still in memory.
    return { isComplete: false, changes: await diff(null) }
  }
}

/** Returns the changed pull requests. @param known the numbers of the earlier version */
export async function changedPulls<R extends Numbered = PullRecord>(
  repo: Repo,
  { isComplete, changes }: LedgerDiff,
  known: readonly number[],
): Promise<ChangedPulls<R>> {
  const records: R[] = []
  for (const { path, new: entry } of changes) {
    if (entry && path.startsWith(`${pullsFolder}/`)) records.push(parse<R>(await readBlob(repo, entry.oid)))
  }
  const numbers = new Set(records.map(({ number }) => number))
  const removed = new Set(
    changes.flatMap(({ path, new: entry }) => (entry ? [] : [Number(/^pulls\/.*\/(\d+)\.json$/.exec(path)?.[1])])),
  )
  return { records, gone: known.filter((number) => !numbers.has(number) && (!isComplete || removed.has(number))) }
}

/** The files that differ in either: two diffs to the same version. */
export function eitherDiff(one: LedgerDiff, other: LedgerDiff): LedgerDiff {
  if (one === other) return one
  const byPath = new Map([...one.changes, ...other.changes].map((change) => [change.path, change]))
  return { isComplete: one.isComplete && other.isComplete, changes: [...byPath.values()] }
}

export interface ChangedEntries {
  readonly put: readonly {
    readonly path: string
    readonly number: number
    readonly entry: number
    readonly blob: Oid
  }[]
  /** Entries that no longer exist. `all`: the earlier version is missing, so any entry may be gone. */
  readonly gone: readonly { readonly number: number; readonly entry: number }[] | 'all'
}

export function changedEntries({ isComplete, changes }: LedgerDiff): ChangedEntries {
  const put = []
  const gone = []
  for (const { path, new: file } of changes) {
    const at = parseEntryFile(path)
    if (!at) continue
    if (file && isFile(file.mode)) put.push({ path, ...at, blob: file.oid })
    else gone.push(at)
  }
  return { put, gone: isComplete ? gone : 'all' }
}

export interface ChangedChecks {
  readonly put: readonly { readonly path: string; readonly commit: string; readonly blob: Oid }[]
  /** Commits whose file no longer exists. `all`: the earlier version is missing, so any file may be gone. */
  readonly gone: readonly string[] | 'all'
}

export function changedChecks({ isComplete, changes }: LedgerDiff): ChangedChecks {
  const put = []
  const gone = []
  for (const { path, new: file } of changes) {
    const commit = parseChecksFile(path)
    if (commit === undefined) continue
    if (file && isFile(file.mode)) put.push({ path, commit, blob: file.oid })
    else gone.push(commit)
  }
  return { put, gone: isComplete ? gone : 'all' }
}

async function readJsonAt<T extends object>(repo: Repo, ledger: Oid, path: string, read = readBlob): Promise<T> {
  return parse<T>(await readFileAt(repo, ledger, path, read))
}

async function readFileAt(repo: Repo, ledger: Oid, path: string, read = readBlob): Promise<Buffer> {
  const entry = await findEntry(repo, (await readCommit(repo, ledger)).tree, path)
  if (!entry) throw new GitError('object_damaged', `The ledger has no ${path}`)
  return read(repo, entry.oid)
}

/** @throws GitError object_damaged: another program edited the ledger, or it is damaged */
function parse<T extends object>(bytes: Buffer): T {
  try {
    const json: unknown = JSON.parse(bytes.toString())
    if (typeof json === 'object' && json !== null) return json as T // only this file writes the ledger
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  throw new GitError('object_damaged', 'The ledger contains data that Grove did not write')
}
