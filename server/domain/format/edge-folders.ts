/** Reads the edges in a folder of a tree, cached by its id. In a changed folder, only changed files are read. */
import { createCache } from '../../../gitstore/caching/caches.ts'
import { readTree, type TreeEntry } from '../../../gitstore/objects/trees.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { createYielder } from '../../../gitstore/yielder.ts'
import * as limits from '../../base/limits.ts'
import type { ContentProblem } from './path-problem.ts'

/** The content of an edge file, perhaps with problems. Undefined if it is not an edge file. */
export type EdgeFile<T> = { readonly edge?: T; readonly problems: readonly ContentProblem[] } | undefined

export interface EdgeFolder<T> {
  /** The edges. The same folder of a repository gives the same array. */
  readonly edges: readonly T[]
  readonly problems: readonly ContentProblem[]
  /** Files by name. */
  readonly files: ReadonlyMap<string, Known<T>>
  /** Approximate bytes of heap. */
  readonly bytes: number
}

interface Known<T> {
  readonly entry: TreeEntry
  readonly file: EdgeFile<T>
  readonly bytes: number
}

/** Folders by repository and id. There is room for one folder with the most edges and the longest labels. */
const folders = createCache<EdgeFolder<unknown>>('edge_folders', { sizeCalculation: ({ bytes }) => bytes })
/** Bytes of heap per folder with its key, and per file without its content. Measured: 300 for an ordinary edge. */
const folderBytes = 600
const fileBytes = 200
/** The folder last read, by repository and name. The next one is likely to share its files. */
const latest = createCache<Oid>('latest_edge_folders')

const nothing: EdgeFolder<never> = { edges: [], problems: [], files: new Map(), bytes: 0 }

/**
 * Reads the edges of `folder`. The result is empty if it is not a folder.
 *
 * @param read parses a file; it is called once per content
 * @throws GitError as readTree; the errors of `read`
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
  const pace = createYielder()
  for (const entry of entries) {
    if (pace.shouldYield(1)) await pace.yieldToEventLoop()
    if (files.size >= limits.edges) {
      problems.push({ path: name, reason: `A node cannot have more than ${limits.edges} ${name}` })
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
