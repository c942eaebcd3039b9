/**
 * Decides whether another pull request proposes the same change, without a merge. Each change is read once, and
 * pairs only compare what was read. A merge for each pair would let one reader cause thousands of merges.
 */
import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { isGitError } from '../../../gitstore/errors.ts'
import { findCommit } from '../../../gitstore/objects/commits.ts'
import { diffTrees, type TreeChange } from '../../../gitstore/objects/diff.ts'
import { readKeptBlob } from '../../../gitstore/objects/kept-blobs.ts'
import { findEntry } from '../../../gitstore/objects/trees.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { createYielder } from '../../../gitstore/yielder.ts'
import type { Change } from './same-change.ts'

/** A changed file. */
interface Part {
  /** A hash of the lines that the change adds and removes. It is the same after a merge onto another base. */
  readonly lines: string
  /** The mode and blob after the change. */
  readonly after: string
}

interface Summary {
  /** A hash of all parts. Null: the change is empty or too large, or its commits are missing. */
  readonly key: string | null
  /** The parts by path. Empty if there are more than `maxParts`. */
  readonly parts: ReadonlyMap<string, Part>
}

/** The most of a change that is compared with changes in other pull requests. */
const largest = { entries: 20_000, characters: 1_000_000 }

/** The most files of a change that are compared one by one. Needed if the target took in some. */
const maxParts = 100

/** Bytes of a change's files whose lines are compared. Further files are the same only if their blobs are. */
const maxLineBytes = 524_288

/** The most changes per judgement that are compared with the target. Further ones count as alike. */
const maxPartial = 20

/** Summaries by repository and commits, which never change. Each part takes about 200 bytes. */
const summaries = new LRUCache<string, Summary>({ maxSize: 100_000, sizeCalculation: ({ parts }) => parts.size + 1 })

const unknown: Summary = { key: null, parts: new Map() }

/**
 * Returns the changes with the same head or content as the current one. Files are the same if the
 * change adds and removes the same lines, or if the file after it is the same. A file that only the other change has
 * must be in the base already. Reads each change once, in about 1 ms, and never merges.
 *
 * @param candidates the newest at the end
 * @throws the signal's reason, and the errors of diffTrees, readKeptBlob and findEntry
 */
export async function listAlike<T extends Change>(
  repo: Repo,
  candidates: readonly T[],
  present: Change,
  signal?: AbortSignal,
): Promise<T[]> {
  const found: T[] = []
  let own: Summary | undefined
  let partial = 0
  for (const other of candidates.toReversed()) {
    signal?.throwIfAborted()
    if (other.head === present.head) {
      found.push(other)
      continue
    }
    own ??= await summaryOf(repo, present)
    if (own.key === null) continue
    const summary = await summaryOf(repo, other)
    if (summary.key === own.key) found.push(other)
    else if (
      containsParts(summary, own) &&
      (++partial > maxPartial || (await isRestTaken(repo, summary, own, present)))
    )
      found.push(other)
  }
  return found.reverse()
}

/** True if `other` has each of these parts. */
function containsParts(other: Summary, { parts }: Summary): boolean {
  if (parts.size === 0 || parts.size > other.parts.size) return false
  for (const [path, { lines, after }] of parts) {
    const known = other.parts.get(path)
    if (known?.lines !== lines && known?.after !== after) return false
  }
  return true
}

/** True if the base has the further files of `other`, as that change leaves them. */
async function isRestTaken(repo: Repo, other: Summary, { parts }: Summary, { base }: Change): Promise<boolean> {
  const commit = base === null ? undefined : await findCommit(repo, base)
  if (!commit) return false
  for (const [path, { after }] of other.parts)
    if (!parts.has(path) && sideOf((await findEntry(repo, commit.tree, path)) ?? null) !== after) return false
  return true
}

async function summaryOf(repo: Repo, change: Change): Promise<Summary> {
  const at = `${repo.dir}:${change.base}:${change.head}`
  const known = summaries.get(at)
  if (known) return known
  const { base, head } = change
  const [before, after] = base === null ? [] : [await findCommit(repo, base), await findCommit(repo, head)]
  if (!before || !after) return unknown
  const made = await summarize(repo, before.tree, after.tree)
  summaries.set(at, made)
  return made
}

async function summarize(repo: Repo, before: Oid, after: Oid): Promise<Summary> {
  const changes = await diffTrees(repo, before, after, createYielder(), largest).catch((error: unknown) => {
    if (isGitError(error, 'limit_exceeded')) return []
    throw error
  })
  if (changes.length === 0) return unknown
  const all = createHash('sha1')
  const parts = new Map<string, Part>()
  const left = { bytes: maxLineBytes }
  for (const change of changes) {
    const lines = await linesOf(repo, change, left)
    all.update(`${change.path}\0${lines}\0`)
    if (changes.length <= maxParts) parts.set(change.path, { lines, after: sideOf(change.new) })
  }
  return { key: all.digest('base64'), parts }
}

const sideOf = (side: TreeChange['new']) => (side === null ? '' : `${side.mode} ${side.oid}`)

/** Hashes the modes, and the lines that were added and removed, in no order. */
async function linesOf(repo: Repo, change: TreeChange, left: { bytes: number }): Promise<string> {
  const [before, after] = [await readLines(repo, change.old, left), await readLines(repo, change.new, left)]
  const counts = before && after ? changedLines(before, after) : []
  const modes = `${change.old?.mode} ${change.new?.mode}`
  // Moved lines alone leave no difference, so the blobs decide.
  const what = counts.length > 0 ? JSON.stringify(counts) : `${sideOf(change.old)} ${sideOf(change.new)}`
  return createHash('sha1').update(`${modes}\n${what}`).digest('base64')
}

/** Undefined if it is not a blob, is missing, or is too large. */
async function readLines(repo: Repo, side: TreeChange['new'], left: { bytes: number }): Promise<string[] | undefined> {
  if (side === null) return []
  if (side.mode === '160000') return undefined
  try {
    const content = await readKeptBlob(repo, side.oid, left.bytes)
    left.bytes -= content.length
    return content.toString('latin1').split('\n')
  } catch (error) {
    if (isGitError(error, 'limit_exceeded') || isGitError(error, 'object_missing')) return undefined
    throw error
  }
}

/** Counts how often each line was added or removed, sorted by line. */
function changedLines(before: readonly string[], after: readonly string[]): [string, number][] {
  const counts = new Map<string, number>()
  for (const line of before) counts.set(line, (counts.get(line) ?? 0) - 1)
  for (const line of after) counts.set(line, (counts.get(line) ?? 0) + 1)
  return [...counts].filter(([, count]) => count !== 0).sort(([a], [b]) => (a < b ? -1 : 1))
}
