/** Parses, searches and lists tree objects. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { createCache } from '../caching/caches.ts'
import { GitError } from '../errors.ts'
import * as limits from '../limits.ts'
import type { Oid, Repo } from '../repo.ts'
import { createYielder, entriesPerTurn, type Yielder } from '../yielder.ts'
import { readObject } from './objects.ts'
import { comparePaths, decodeName, encodeName } from './tree-names.ts'

export type Mode = '040000' | '100644' | '100755' | '120000' | '160000'

export interface TreeEntry {
  /**
   * Bytes that are not UTF-8 become the lone surrogates U+DC80…U+DCFF, as in Python's PEP 383. Every name therefore has
   * a distinct string, and survives a rebuild. `pathProblem` refuses such names.
   */
  readonly name: string
  readonly mode: Mode
  readonly oid: Oid
}

export interface FileEntry {
  readonly path: string
  readonly mode: Mode
  readonly oid: Oid
}

export const emptyTree: Oid = '4b825dc642cb6eb9a060e54bf8d69288fbee4904'

/** Trees by folder and id: some 6,000 small ones, which never change. Sizes are estimates of the heap. */
const trees = createCache<{ readonly entries: readonly TreeEntry[]; readonly bytes: number }>('trees', {
  sizeCalculation: ({ bytes }) => bytes,
})

/**
 * Bytes of heap for a tree with its key, and for each entry. The content is counted separately. Measured: 7,150 for 50
 * entries of 45 bytes.
 */
const treeOverheadBytes = 480
const entryOverheadBytes = 90

/** Bytes of a tree that is parsed at once. It has some 5,000 entries. */
const smallTreeBytes = 262_144

/**
 * Returns the entries in Git's order, even if the tree was written in another order. Old modes such as 100664 read as
 * 100644, as Git reads them. Counts a large tree on `pace` before it is parsed.
 *
 * @throws GitError object_missing (also if `oid` is another kind of object), object_damaged, repo_missing
 * @throws any error of `pace`
 */
export async function readTree(repo: Repo, oid: Oid, pace?: Yielder): Promise<readonly TreeEntry[]> {
  // Git knows the empty tree without storing it.
  if (oid === emptyTree) return []
  const known = trees.get(`${repo.dir}:${oid}`)
  if (known) return known.entries
  const { type, content } = await readObject(repo, oid)
  if (type !== 'tree') throw new GitError('object_missing', `Object ${oid} is a ${type}, not a tree`, { oid })
  const entries = content.length > smallTreeBytes ? await parseLarge(oid, content, pace) : parseTree(oid, content)
  if (!repo.pending?.has(oid)) remember(repo, oid, content, entries)
  return entries
}

/** Caches a small tree that is on disk. @throws GitError object_damaged */
export function rememberTree(repo: Repo, oid: Oid, content: Buffer): void {
  if (content.length <= smallTreeBytes) remember(repo, oid, content, parseTree(oid, content))
}

function remember(repo: Repo, oid: Oid, content: Buffer, entries: readonly TreeEntry[]): void {
  const bytes = treeOverheadBytes + content.length + entryOverheadBytes * entries.length
  trees.set(`${repo.dir}:${oid}`, { entries, bytes })
}

async function parseLarge(oid: Oid, content: Buffer, pace?: Yielder): Promise<TreeEntry[]> {
  // Most trees have 45 bytes per entry.
  if (pace?.shouldYield(Math.floor(content.length / 45))) await pace.yieldToEventLoop()
  const entries: TreeEntry[] = []
  for (let at = 0; at < content.length; ) {
    at = parseEntries(oid, content, at, entries, entriesPerTurn)
    await nextTurn()
  }
  return inOrder(entries)
}

function parseTree(oid: Oid, content: Buffer): TreeEntry[] {
  const entries: TreeEntry[] = []
  parseEntries(oid, content, 0, entries, Number.POSITIVE_INFINITY)
  return inOrder(entries)
}

/** Adds at most `count` entries. Returns the offset of the next one. */
function parseEntries(oid: Oid, content: Buffer, from: number, entries: TreeEntry[], count: number): number {
  let at = from
  for (let parsed = 0; at < content.length && parsed < count; parsed++) {
    const space = content.indexOf(0x20, at)
    const nul = content.indexOf(0, space)
    if (space < 0 || nul < 0 || nul + 21 > content.length) {
      throw new GitError('object_damaged', `Tree ${oid} ends in the middle of an entry`, { oid })
    }
    entries.push({
      name: decodeName(content.subarray(space + 1, nul)),
      mode: modeOf(Number.parseInt(content.toString('latin1', at, space), 8)),
      oid: content.toString('hex', nul + 1, nul + 21),
    })
    at = nul + 21
  }
  return at
}

function inOrder(entries: TreeEntry[]): TreeEntry[] {
  let before: TreeEntry | undefined
  for (const entry of entries) {
    if (before && compareEntries(before, entry) > 0) return entries.sort(compareEntries)
    before = entry
  }
  return entries
}

/**
 * Orders the entries of a tree as Git does. A directory sorts as if its name ended with `/`. Walks in this order visit
 * paths in order.
 */
export function compareEntries(a: TreeEntry, b: TreeEntry): number {
  return comparePaths(keyOf(a), keyOf(b))
}

function keyOf({ name, mode }: TreeEntry): string {
  return mode === '040000' ? `${name}/` : name
}

/** Source: Git's canon_mode, object.h. */
function modeOf(bits: number): Mode {
  const kind = bits & 0o170000
  if (kind === 0o100000) return bits & 0o100 ? '100755' : '100644'
  if (kind === 0o040000) return '040000'
  return kind === 0o120000 ? '120000' : '160000'
}

/**
 * Encodes a tree object in Git's order, byte for byte as isomorphic-git's writeTree does. That function cannot write
 * names whose bytes are not UTF-8.
 */
export function treeContent(entries: readonly TreeEntry[]): Buffer {
  const sorted = [...entries].sort(compareEntries)
  const names = sorted.map(({ name }) => encodeName(name))
  const modes = sorted.map(({ mode }) => `${mode.replace(/^0/, '')} `)
  const size = sorted.reduce((sum, _, at) => sum + (modes[at]?.length ?? 0) + (names[at]?.length ?? 0) + 21, 0)
  const content = Buffer.allocUnsafe(size)
  let end = 0
  for (const [at, { oid }] of sorted.entries()) {
    end += content.write(modes[at] ?? '', end, 'latin1')
    end += names[at]?.copy(content, end) ?? 0
    end = content.writeUInt8(0, end)
    end += content.write(oid, end, 'hex')
  }
  return content.subarray(0, end)
}

/** Finds the file or directory at `path` below `tree`. @throws the errors of readTree */
export async function findEntry(repo: Repo, tree: Oid, path: string): Promise<TreeEntry | undefined> {
  let entry: TreeEntry | undefined
  for (const name of path.split('/')) {
    if (entry && entry.mode !== '040000') return undefined
    const entries: readonly TreeEntry[] = await readTree(repo, entry?.oid ?? tree)
    entry = entries.find((candidate) => candidate.name === name)
    if (!entry) return undefined
  }
  return entry
}

interface ListLimits {
  readonly maxEntries?: number
  readonly maxDepth?: number
  readonly pace?: Yielder
}

/**
 * Lists every file, symlink and gitlink below `tree`, sorted by the bytes of the path. `maxEntries` also counts
 * directories. 12 objects can make 10^10 paths, with or without files at their ends.
 *
 * @throws GitError limit_exceeded, and the errors of readTree
 */
export async function listFiles(
  repo: Repo,
  tree: Oid,
  { maxEntries = 100_000, maxDepth = 64, pace = createYielder() }: ListLimits = {},
): Promise<FileEntry[]> {
  const files: FileEntry[] = []
  let seen = 0
  let characters = 0
  await walk(tree, '', 1)
  return files

  async function walk(oid: Oid, prefix: string, depth: number) {
    const entries = await readTree(repo, oid, pace)
    seen += entries.length
    if (seen > maxEntries) throw new GitError('limit_exceeded', `More than ${maxEntries} entries`, { maxEntries })
    if (depth > maxDepth && entries.length > 0)
      throw new GitError('limit_exceeded', `Deeper than ${maxDepth}`, { maxDepth })
    for (const { name, mode, oid } of entries) {
      const path = prefix + name
      characters += path.length
      if (characters > limits.treePathCharacters)
        throw new GitError('limit_exceeded', `Paths of over ${limits.treePathCharacters} characters`, {
          maxPathCharacters: limits.treePathCharacters,
        })
      if (pace.shouldYield(1)) await pace.yieldToEventLoop()
      if (mode === '040000') await walk(oid, `${path}/`, depth + 1)
      else files.push({ path, mode, oid })
    }
  }
}
