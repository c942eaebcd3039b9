/** Reads the rows of a node's checks from its ledger. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { readBlob, readOneOfManyBlobs } from '../../../gitstore/objects/objects.ts'
import type { Repo } from '../../../gitstore/repo.ts'
import {
  type ChecksChange,
  type CommitChecks,
  listCheckBlobs,
  listCheckedCommits,
} from '../../../index/derived/checks.ts'
import type { IndexDb } from '../../../index/derived/schema.ts'
import { checkRows, readChecksText } from '../ledger/checks.ts'
import { type ChangedChecks, changedChecks, type LedgerDiff } from '../ledger/ledger.ts'

/** The most commits of one transaction. Each has up to 50 checks, and other writers wait for it. */
const commitsAtOnce = 50
/** For so many files, starting a Git process costs less than searching each of them. */
const many = 20

type ChecksFile = ChangedChecks['put'][number]

/** Reads the changed checks. Returns undefined if they are too many for one transaction. */
export async function readChecksChange(
  repo: Repo,
  nodeId: string,
  diff: LedgerDiff,
): Promise<ChecksChange | undefined> {
  const { put, gone } = changedChecks(diff)
  if (put.length > commitsAtOnce || (gone !== 'all' && gone.length > commitsAtOnce)) return undefined
  return { put: await readRows(repo, nodeId, put), gone }
}

async function readRows(repo: Repo, nodeId: string, files: readonly ChecksFile[]): Promise<CommitChecks[]> {
  const read = files.length < many ? readBlob : readOneOfManyBlobs
  const reading = files.map(async ({ commit, blob }) => {
    const rows = checkRows(commit, await readChecksText(repo, blob, read))
    return { commit, rows: rows.map((row) => ({ ...row, node_id: nodeId, blob })) }
  })
  const rows = await Promise.all(reading)
  await nextTurn()
  return rows
}

/** Yields changes that make the rows of a node's checks those of the ledger. `diff` has all files of the ledger. */
export async function* checkSlices(
  db: IndexDb,
  repo: Repo,
  nodeId: string,
  diff: LedgerDiff,
): AsyncIterable<ChecksChange> {
  const { put } = changedChecks(diff)
  for (let at = 0; at < put.length; at += commitsAtOnce) {
    const some = put.slice(at, at + commitsAtOnce)
    const commits = some.map(({ commit }) => commit)
    const written = new Map((await listCheckBlobs(db, nodeId, commits)).map((row) => [row.commit_id, row.blob]))
    const unwritten = some.filter(({ commit, blob }) => written.get(commit) !== blob)
    if (unwritten.length > 0) yield { put: await readRows(repo, nodeId, unwritten), gone: [] }
  }
  const kept = new Set(put.map(({ commit }) => commit))
  for (let after: string | undefined = ''; after !== undefined; ) {
    const commits: readonly string[] = await listCheckedCommits(db, nodeId, after, commitsAtOnce)
    const gone = commits.filter((commit) => !kept.has(commit))
    if (gone.length > 0) yield { put: [], gone }
    after = commits.length === commitsAtOnce ? commits.at(-1) : undefined
  }
}
