/** The edges in a folder of a tree, kept by the folder's id: of one that changed, only the files that changed are read. */
import { LRUCache } from 'lru-cache'
import { readTree, type TreeEntry } from '../../../gitstore/objects/trees.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import type { ContentProblem } from './path-problem.ts'

/** Edges in one folder; every commit compares them, and every index of the graph holds them. */
const edgesAtMost = 10_000

/** What a file says; an edge may have problems too. Undefined where it is no edge's file. */
export type EdgeFile<T> = { readonly edge?: T; readonly problems: readonly ContentProblem[] } | undefined

export interface EdgeFolder<T> {
  /** The same array for the same folder of a repository. */
  readonly edges: readonly T[]
  readonly problems: readonly ContentProblem[]
  /** By file name. */
  readonly files: ReadonlyMap<string, Known<T>>
  /** Of heap, roughly. */
  readonly bytes: number
}

interface Known<T> {
  readonly entry: TreeEntry
  readonly file: EdgeFile<T>
  readonly bytes: number
}

/** By repository and id; room for one with as many edges as there may be, each with the longest label. */
const folders = new LRUCache<string, EdgeFolder<unknown>>({
  maxSize: 16_000_000,
  sizeCalculation: ({ bytes }) => bytes,
})
/** Bytes of heap for a folder and its key, and for a file, beside what it says. Measured: 300 for an ordinary edge. */
const folderBytes = 600
const fileBytes = 200
/** The id of the one that was read last, by repository and name: its files are likely to be in the next one too. */
const latest = new LRUCache<string, Oid>({ max: 1_000 })

const nothing: EdgeFolder<never> = { edges: [], problems: [], files: new Map(), bytes: 0 }

/**
 * The edges of `folder`, of which there is none where it is no folder.
 *
 * @param read says what a file is; it is asked once for each content
 * @throws GitError as readTree, and what `read` throws
 */
export async function readEdgeFolder<T>(
  repo: Repo,
  name: string,
  folder: TreeEntry | undefined,
  read: (entry: TreeEntry) => Promise<EdgeFile<T>>,
): Promise<EdgeFolder<T>> {
  if (folder?.mode !== '040000') return nothing
  const known = findFolder<T>(repo, name, folder.oid)
  if (known) return known
  const before = findFolder<T>(repo, name, latest.get(`${repo.dir}:${name}`) ?? '')
  const entries = await readTree(repo, folder.oid)
  const files = new Map<string, Known<T>>()
  let bytes = folderBytes
  const edges: T[] = []
  const problems: ContentProblem[] = []
  for (const entry of entries) {
    if (files.size >= edgesAtMost) {
      problems.push({ path: name, reason: `a node cannot have more than ${edgesAtMost} ${name}` })
      break
    }
    const same = before?.files.get(entry.name)
    const isSame = same?.entry.oid === entry.oid && same.entry.mode === entry.mode
    const known = isSame ? same : withSize(entry, await read(entry))
    const { file } = known
    if (!file) continue
    files.set(entry.name, known)
    bytes += known.bytes
    if (file.edge !== undefined) edges.push(file.edge)
    problems.push(...file.problems)
  }
  const found: EdgeFolder<T> = { edges, problems, files, bytes }
  folders.set(keyOf(repo, name, folder.oid), found)
  latest.set(`${repo.dir}:${name}`, folder.oid)
  return found
}

function withSize<T>(entry: TreeEntry, file: EdgeFile<T>): Known<T> {
  return { entry, file, bytes: fileBytes + JSON.stringify(file ?? '').length }
}

function keyOf(repo: Repo, name: string, oid: Oid): string {
  return `${repo.dir}:${name}:${oid}`
}

function findFolder<T>(repo: Repo, name: string, oid: Oid): EdgeFolder<T> | undefined {
  return folders.get(keyOf(repo, name, oid)) as EdgeFolder<T> | undefined // a name has one kind of edges
}
