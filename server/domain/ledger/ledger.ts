/** The ledger of a node, `refs/grove/ledger`: events as JSON files in commits. */

import { GitError } from '../../../gitstore/errors.ts'
import { findCommit, readCommit } from '../../../gitstore/objects/commits.ts'
import { diffTrees } from '../../../gitstore/objects/diff.ts'
import { newObjectBatch, type ObjectDraft } from '../../../gitstore/objects/object-batch.ts'
import { readBlob } from '../../../gitstore/objects/objects.ts'
import { applyChanges } from '../../../gitstore/objects/tree-changes.ts'
import { findEntry } from '../../../gitstore/objects/trees.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { lastNumberFile, nodeFile, pullFile, pullsFolder } from '../format/paths.ts'
import { type Author, asJson, signature } from '../format/signatures.ts'

/** `node.json` of the ledger: the node's fields at its creation. */
export interface NodeRecord {
  readonly id: string
  readonly org_id: string
  readonly title: string
  readonly created_at: string
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
  readonly created_at: string
  /**
   * Author and time of the last event. Name and e-mail are empty if unknown, as for branches moved outside the service.
   */
  readonly by: Author
  readonly at: string
  /** Author and time of the merge or closing. Later edits do not change it. Absent while it is open. */
  readonly ended?: { readonly by: Author; readonly at: string }
  /** The source's head at the last event. Final once the pull request has ended. */
  readonly source_commit: Oid
  /** The target's head before the merge, or at the last event. */
  readonly target_before: Oid
  readonly commits_ahead: number
  readonly commits_behind: number
}

export type PullEvent = 'open' | 'edit' | 'merge' | 'close' | 'reopen'

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
 * Appends one event and saves the objects. The caller holds the ledger's lock, so numbers are unique and without gaps.
 */
export function appendPull(repo: Repo, ledger: Oid, event: PullEvent, record: PullRecord): Promise<Oid> {
  return appendPulls(repo, ledger, [{ event, record }])
}

/** Appends several events, one commit each, and saves all objects at once. The caller holds the ledger's lock. */
export async function appendPulls(
  repo: Repo,
  ledger: Oid,
  events: readonly { readonly event: PullEvent; readonly record: PullRecord }[],
): Promise<Oid> {
  const draft = newObjectBatch(repo)
  let tip = ledger
  let { tree } = await readCommit(repo, ledger)
  for (const { event, record } of events) {
    const changes = [{ path: pullFile(record.number), blob: await draft.blob(asJson(record)) }]
    if (event === 'open')
      changes.push({ path: lastNumberFile, blob: await draft.blob(Buffer.from(`${record.number}\n`)) })
    const person = signature(record.by, record.at)
    tree = await applyChanges(draft, tree, changes)
    const message = `${event} ${record.number}`
    tip = await draft.commit({ tree, parents: [tip], author: person, committer: person, message })
  }
  await draft.save()
  return tip
}

export async function readNodeRecord(repo: Repo, ledger: Oid): Promise<NodeRecord> {
  const record = await readJsonAt<NodeRecord>(repo, ledger, nodeFile)
  if (typeof record.title === 'string' && typeof record.created_at === 'string') return record
  throw new GitError('object_damaged', 'The ledger does not describe the node')
}

/** Returns the highest number used, or 0 before the first. */
export async function readLastNumber(repo: Repo, ledger: Oid): Promise<number> {
  return Number((await readFileAt(repo, ledger, lastNumberFile)).toString())
}

export async function readPull(repo: Repo, ledger: Oid, number: number): Promise<PullRecord> {
  return readJsonAt<PullRecord>(repo, ledger, pullFile(number))
}

export interface ChangedPulls {
  /** Records of the later version. */
  readonly records: readonly PullRecord[]
  /** Numbers that no longer exist. An older copy replaced the repository, or the ledger was moved back. */
  readonly gone: readonly number[]
}

/** Returns the pull requests changed since `before`, or all if it is null or missing. */
export async function changedPulls(
  repo: Repo,
  before: Oid | null,
  after: Oid,
  known: readonly number[],
): Promise<ChangedPulls> {
  const base = before === null ? undefined : await findCommit(repo, before)
  const changes = await diffTrees(repo, base?.tree ?? null, (await readCommit(repo, after)).tree)
  const records: PullRecord[] = []
  for (const { path, new: entry } of changes) {
    if (entry && path.startsWith(`${pullsFolder}/`)) records.push(parse<PullRecord>(await readBlob(repo, entry.oid)))
  }
  const numbers = new Set(records.map(({ number }) => number))
  const removed = new Set(
    changes.flatMap(({ path, new: entry }) => (entry ? [] : [Number(/\/(\d+)\.json$/.exec(path)?.[1])])),
  )
  return { records, gone: known.filter((number) => !numbers.has(number) && (!base || removed.has(number))) }
}

async function readJsonAt<T extends object>(repo: Repo, ledger: Oid, path: string): Promise<T> {
  return parse<T>(await readFileAt(repo, ledger, path))
}

async function readFileAt(repo: Repo, ledger: Oid, path: string): Promise<Buffer> {
  const entry = await findEntry(repo, (await readCommit(repo, ledger)).tree, path)
  if (!entry) throw new GitError('object_damaged', `The ledger has no ${path}`)
  return readBlob(repo, entry.oid)
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
