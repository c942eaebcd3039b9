/**
 * Decides whether another pull request proposes the same change, without a merge. Each change is read once, and
 * pairs only compare what was read. A merge for each pair would let one reader cause thousands of merges.
 */
import { createHash } from 'node:crypto'
import { createCache } from '../../../gitstore/caching/caches.ts'
import { isGitError } from '../../../gitstore/errors.ts'
import { findCommit } from '../../../gitstore/objects/commits.ts'
import { diffTrees, type TreeChange } from '../../../gitstore/objects/diff.ts'
import { readKeptBlob } from '../../../gitstore/objects/kept-blobs.ts'
import { findEntry } from '../../../gitstore/objects/trees.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { createYielder } from '../../../gitstore/yielder.ts'
import * as limits from '../../base/limits.ts'
import type { Change } from './same-change.ts'

/** A changed file. */
interface Part {
  /** A sum of the lines that the change adds and removes. It is the same after a merge onto another base. */
  readonly lines: string
  /** The mode and blob after the change. */
  readonly after: string
}

interface Summary {
  /** A hash of all parts. Null: the change is empty or too large, or its commits are missing. */
  readonly key: string | null
  /** The parts by path. Empty if there are more than `limits.sameParts`. */
  readonly parts: ReadonlyMap<string, Part>
  /** The cost of reading the change, in the unit of `limits.sameCost`. */
  readonly cost: number
}

/** The rest that may still be read. */
interface Left {
  files: number
  bytes: number
}

/** Summaries by repository and commits, which never change. */
const summaries = createCache<Summary>('change_parts', { sizeCalculation: ({ parts }) => parts.size + 1 })

const unknown: Summary = { key: null, parts: new Map(), cost: 0 }

/**
 * Returns the changes with the same head or content as the current one. Files are the same if the
 * change adds and removes the same lines, or if the file after it is the same. A file that only the other change has
 * must be in the base already. Reads each change once, in about 1 ms, and never merges. Takes about a second at most.
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
  let [partial, cost] = [0, 0]
  for (const other of candidates.toReversed()) {
    signal?.throwIfAborted()
    if (other.head === present.head) {
      found.push(other)
      continue
    }
    if (cost > limits.sameCost) continue
    own ??= await summaryOf(repo, present)
    if (own.key === null) continue
    const summary = await summaryOf(repo, other)
    cost += summary.cost
    if (summary.key === own.key) found.push(other)
    else if (
      containsParts(summary, own) &&
      (++partial > limits.samePartial || (await isRestTaken(repo, summary, own, present)))
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
  let cost = 0
  const counted = (entries: number) => {
    cost += entries
  }
  const most = { entries: limits.sameEntries, characters: limits.samePathCharacters, counted }
  const changes = await diffTrees(repo, before, after, createYielder(), most).catch((error: unknown) => {
    if (isGitError(error, 'limit_exceeded')) return []
    throw error
  })
  if (changes.length === 0) return { ...unknown, cost }
  const all = createHash('sha1')
  const parts = new Map<string, Part>()
  const left: Left = { files: limits.sameLineFiles, bytes: limits.sameLineBytes }
  for (const change of changes) {
    const lines = left.files-- > 0 ? await linesOf(repo, change, left) : blobsOf(change)
    all.update(`${change.path}\0${lines}\0`)
    if (changes.length <= limits.sameParts) parts.set(change.path, { lines, after: sideOf(change.new) })
  }
  return { key: all.digest('base64'), parts, cost: cost + (limits.sameLineBytes - left.bytes) / 512 }
}

const sideOf = (side: TreeChange['new']) => (side === null ? '' : `${side.mode} ${side.oid}`)

/** Describes the modes, and the lines that were added and removed, in no order. */
async function linesOf(repo: Repo, { old, new: now }: TreeChange, left: Left): Promise<string> {
  const [before, after] = [await readSums(repo, old, left), await readSums(repo, now, left)]
  const sums = before && after ? after.map((sum, at) => (sum - (before[at] ?? 0)) | 0) : []
  // Moved lines alone leave no difference, so the blobs decide.
  return sums.some((sum) => sum !== 0) ? `${old?.mode} ${now?.mode} ${sums.join(' ')}` : blobsOf({ old, new: now })
}

const blobsOf = ({ old, new: now }: Pick<TreeChange, 'old' | 'new'>) => `${sideOf(old)} ${sideOf(now)}`

/** Undefined if it is not a blob, is missing, or is too large. */
async function readSums(repo: Repo, side: TreeChange['new'], left: Left): Promise<readonly number[] | undefined> {
  if (side === null) return [0, 0]
  if (side.mode === '160000') return undefined
  try {
    const content = await readKeptBlob(repo, side.oid, left.bytes)
    left.bytes -= content.length
    return sumsOfLines(content)
  } catch (error) {
    if (isGitError(error, 'limit_exceeded') || isGitError(error, 'object_missing')) return undefined
    throw error
  }
}

/**
 * Adds two hashes of each line, so that the order does not matter. They are FNV-1a with two factors. To list, count and
 * sort the lines takes 20 times as long. A forged collision only makes an objection hold.
 */
function sumsOfLines(text: Buffer): readonly number[] {
  const basis = 0x811c9dc5
  let [one, other, ones, others] = [basis, basis, 0, 0]
  for (let at = 0; at <= text.length; at++) {
    const byte = text[at] ?? 10
    if (byte !== 10) {
      one = Math.imul(one ^ byte, 0x01000193)
      other = Math.imul(other ^ byte, 0x85ebca6b)
      continue
    }
    ones = (ones + mixed(one)) | 0
    others = (others + mixed(other)) | 0
    one = other = basis
  }
  return [ones, others]
}

/** Spreads a hash over all bits, so that sums of similar lines differ. Source: fmix32 of MurmurHash3. */
function mixed(hash: number): number {
  const half = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  const most = Math.imul(half ^ (half >>> 13), 0xc2b2ae35)
  return most ^ (most >>> 16)
}
