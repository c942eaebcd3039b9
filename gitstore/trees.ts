/** Tree objects: parsed, searched, listed, and rebuilt along the paths that change. */

import { LRUCache } from 'lru-cache'
import { GitError } from './errors.ts'
import { readObject } from './objects.ts'
import type { Oid, Repo } from './repo.ts'

export type Mode = '040000' | '100644' | '100755' | '120000' | '160000'

export interface TreeEntry {
  /**
   * UTF-8 bytes that are not valid stand as lone surrogates U+DC80…U+DCFF, as in Python's PEP 383: every name has its own
   * text and survives a rebuild. `pathProblem` refuses such names.
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

/** Trees by folder and id, 6,000 of the small kind; they never change. Sizes are estimates of the heap. */
const trees = new LRUCache<string, { readonly entries: readonly TreeEntry[]; readonly bytes: number }>({
  maxSize: 6_000_000,
  sizeCalculation: ({ bytes }) => bytes,
})
/** Bytes of heap for a tree and its key, and for each entry, beyond its content. Measured: 7,150 for 50 entries of 45. */
const treeOverhead = 480
const entryOverhead = 90

/**
 * The entries in the order of the object, which is git's. Old modes such as 100664 read as git reads them, 100644.
 *
 * @throws GitError object_missing (also if `oid` is another kind of object), object_damaged, repo_missing
 */
export async function readTree(repo: Repo, oid: Oid): Promise<readonly TreeEntry[]> {
  // Git knows it without having it.
  if (oid === emptyTree) return []
  const known = trees.get(`${repo.dir}:${oid}`)
  if (known) return known.entries
  const { type, content } = await readObject(repo, oid)
  if (type !== 'tree') throw new GitError('object_missing', `Object ${oid} is a ${type}, not a tree`, { oid })
  return repo.pending?.has(oid) ? parseTree(oid, content) : rememberTree(repo, oid, content)
}

/** The tree, kept for `readTree`: for what is on disk alone. @throws GitError object_damaged */
export function rememberTree(repo: Repo, oid: Oid, content: Buffer): readonly TreeEntry[] {
  const entries = parseTree(oid, content)
  const bytes = treeOverhead + content.length + entryOverhead * entries.length
  trees.set(`${repo.dir}:${oid}`, { entries, bytes })
  return entries
}

function parseTree(oid: Oid, content: Buffer): TreeEntry[] {
  const entries: TreeEntry[] = []
  for (let at = 0; at < content.length; ) {
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
  return entries
}

/** Source: git's canon_mode, object.h. */
function modeOf(bits: number): Mode {
  const kind = bits & 0o170000
  if (kind === 0o100000) return bits & 0o100 ? '100755' : '100644'
  if (kind === 0o040000) return '040000'
  return kind === 0o120000 ? '120000' : '160000'
}

/**
 * The content of a tree object, in git's order: byte for byte as isomorphic-git's writeTree has it, which cannot write names
 * whose bytes are not UTF-8.
 */
export function treeContent(entries: readonly TreeEntry[]): Buffer {
  const sortable = entries.map((entry) => ({
    entry,
    key: encodeName(entry.mode === '040000' ? `${entry.name}/` : entry.name),
  }))
  sortable.sort((a, b) => Buffer.compare(a.key, b.key))
  return Buffer.concat(
    sortable.flatMap(({ entry }) => [
      Buffer.from(`${entry.mode.replace(/^0/, '')} `),
      encodeName(entry.name),
      Buffer.of(0),
      Buffer.from(entry.oid, 'hex'),
    ]),
  )
}

const escapedByte = /(?<![\ud800-\udbff])[\udc80-\udcff]/

/** Whether bytes of the name are not UTF-8. */
function isEscapedName(name: string): boolean {
  return escapedByte.test(name)
}

function decodeName(bytes: Buffer): string {
  const text = bytes.toString('utf8')
  if (!text.includes('\ufffd') || Buffer.from(text).equals(bytes)) return text
  let name = ''
  for (let at = 0; at < bytes.length; ) {
    const lead = bytes[at] ?? 0
    const length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4
    const part = bytes.subarray(at, at + length)
    const valid = Buffer.from(part.toString('utf8')).equals(part)
    name += valid ? part.toString('utf8') : String.fromCharCode(0xdc00 + lead)
    at += valid ? length : 1
  }
  return name
}

function encodeName(name: string): Buffer {
  if (!isEscapedName(name)) return Buffer.from(name)
  const parts = name.split(/((?<![\ud800-\udbff])[\udc80-\udcff])/)
  return Buffer.concat(parts.map((part, i) => (i % 2 ? Buffer.of(part.charCodeAt(0) - 0xdc00) : Buffer.from(part))))
}

/** Orders paths by their bytes in a tree, as git does; JavaScript's own order differs above U+FFFF. */
export function comparePaths(a: string, b: string): number {
  if (hasSurrogate.test(a) || hasSurrogate.test(b)) return Buffer.compare(encodeName(a), encodeName(b))
  return a < b ? -1 : a > b ? 1 : 0
}

const hasSurrogate = /[\ud800-\udfff]/

/** The entry at `path` below `tree`, a file or a directory. @throws GitError as readTree */
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

/**
 * Every file, symlink and gitlink below `tree`, sorted by the bytes of the path. `maxEntries` counts directories too, since
 * 12 objects can make 10^10 paths, with or without files at their ends.
 *
 * @throws GitError limit_exceeded, and as readTree
 */
export async function listFiles(
  repo: Repo,
  tree: Oid,
  { maxEntries = 100_000, maxDepth = 64 }: { maxEntries?: number; maxDepth?: number } = {},
): Promise<FileEntry[]> {
  const files: FileEntry[] = []
  let seen = 0
  await walk(tree, '', 1)
  return files.sort((a, b) => comparePaths(a.path, b.path))

  async function walk(oid: Oid, prefix: string, depth: number) {
    const entries = await readTree(repo, oid)
    seen += entries.length
    if (seen > maxEntries) throw new GitError('limit_exceeded', `More than ${maxEntries} entries`, { maxEntries })
    if (depth > maxDepth && entries.length > 0)
      throw new GitError('limit_exceeded', `Deeper than ${maxDepth}`, { maxDepth })
    for (const { name, mode, oid } of entries) {
      if (mode === '040000') await walk(oid, `${prefix}${name}/`, depth + 1)
      else files.push({ path: prefix + name, mode, oid })
    }
  }
}

/** What `applyChanges` needs of a draft. */
export interface TreeBuilder {
  readonly repo: Repo
  tree(entries: readonly TreeEntry[]): Promise<Oid>
}

export interface PathChange {
  readonly path: string
  /** The file's new content; null removes the file, if there is one. */
  readonly blob: Oid | null
}

/**
 * The tree that results when the files change, as git's index would have it: only the directories on the way are rebuilt,
 * empty ones vanish, an executable file stays one, anything else that is written becomes 100644. The last change of a path
 * counts. A file may take a directory's place, or the reverse, only if the changes remove what stands there.
 *
 * @returns the empty tree's id if nothing is left
 * @throws GitError path_conflict (facts.path), and as readTree
 */
export async function applyChanges(draft: TreeBuilder, tree: Oid | null, changes: readonly PathChange[]): Promise<Oid> {
  const root: Branching = { below: new Map() }
  for (const { path, blob } of changes) {
    let node = root
    for (const name of path.split('/')) {
      if (name === '') throw new GitError('path_conflict', 'Not a path of a tree', { path })
      const next: Branching = node.below.get(name) ?? { below: new Map() }
      node.below.set(name, next)
      node = next
    }
    node.blob = blob
  }
  return (await rebuild(draft, tree, root, '')) ?? draft.tree([])
}

/** The changes of one directory, by name: of the entry itself and of what lies below it. */
interface Branching {
  blob?: Oid | null
  readonly below: Map<string, Branching>
}

/** The directory's new tree, or null if it is empty. */
async function rebuild(
  draft: TreeBuilder,
  tree: Oid | null,
  { below }: Branching,
  prefix: string,
): Promise<Oid | null> {
  const before = tree === null ? [] : await readTree(draft.repo, tree)
  const entries = new Map(before.map((entry) => [entry.name, entry]))
  let changed = false
  for (const [name, change] of below) {
    const old = entries.get(name)
    const entry = await changedEntry(draft, old, name, change, prefix + name)
    if (entry?.oid === old?.oid && entry?.mode === old?.mode) continue
    changed = true
    if (entry) entries.set(name, entry)
    else entries.delete(name)
  }
  if (entries.size === 0) return null
  return changed || tree === null ? draft.tree([...entries.values()]) : tree
}

async function changedEntry(
  draft: TreeBuilder,
  old: TreeEntry | undefined,
  name: string,
  change: Branching,
  path: string,
): Promise<TreeEntry | undefined> {
  const oldDirectory = old?.mode === '040000' ? old : undefined
  const oldFile = old?.mode === '040000' ? undefined : old
  const directory =
    change.below.size === 0
      ? (oldDirectory?.oid ?? null)
      : await rebuild(draft, oldDirectory?.oid ?? null, change, `${path}/`)
  const mode: Mode = oldFile?.mode === '100755' ? '100755' : '100644'
  const file = change.blob === undefined ? oldFile : change.blob === null ? undefined : { name, mode, oid: change.blob }
  if (directory !== null && file) throw new GitError('path_conflict', `${path} is a file and a directory`, { path })
  if (directory !== null) return { name, mode: '040000', oid: directory }
  return file
}
