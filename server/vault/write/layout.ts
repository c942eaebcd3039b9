/** Where each node of an export lies: where an import found it, else by its title below its first parent. */
import { posix } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { folded, withoutEnding } from '../../markdown/note-names.ts'
import { isIndex } from '../../markdown/tree.ts'
import { fileOfSource, noteName } from '../../markdown/vault-paths.ts'

export interface LaidNode {
  readonly id: string
  readonly title: string
  /** The property `source_path`. */
  readonly source: string | undefined
  /** The id of the first parent. */
  readonly parent: string | undefined
}

/** Nodes between two turns of the event loop: some 5 ms. */
const nodesPerTurn = 500
/** A place below a parent that is longer or deeper is in the root: what lies beside the note needs room, too. */
const maxFolderBytes = 400
const maxDepth = 24

/** The names that are taken: two of them are one to a file system without case, or with one normal form. */
export class TakenPaths {
  /** By folded path, what it was claimed for. */
  readonly #files = new Map<string, string>()
  readonly #folders = new Set<string>()

  /** Whether the path was free. */
  claim(path: string, content: string = path): boolean {
    const folders = foldersAbove(path).map(folded)
    const name = folded(path)
    if (this.#files.has(name) || this.#folders.has(name) || folders.some((folder) => this.#files.has(folder)))
      return false
    this.#files.set(name, content)
    for (const folder of folders) this.#folders.add(folder)
    return true
  }

  /** What the path was claimed for, in whatever spelling. */
  contentAt(path: string): string | undefined {
    return this.#files.get(folded(path))
  }
}

function foldersAbove(path: string): string[] {
  const folders: string[] = []
  for (let end = path.indexOf('/'); end >= 0; end = path.indexOf('/', end + 1)) folders.push(path.slice(0, end))
  return folders
}

/**
 * The file of each node, by id. The same nodes have the same files, whatever their order; an import that takes each file for
 * the `source_path` of its node changes none. 100,000 nodes take 1.5 s, with turns of the event loop in between.
 */
export async function layOut(nodes: readonly LaidNode[], taken: TakenPaths): Promise<Map<string, string>> {
  const files = new Map<string, string>()
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const sources = nodes.flatMap((node) => {
    const file = node.source === undefined ? undefined : fileOfSource(node.source)
    return file === undefined ? [] : [{ id: node.id, file, isExact: file === node.source }]
  })
  // A note at its own place goes before a folder that gets an index there.
  sources.sort((a, b) => Number(b.isExact) - Number(a.isExact) || compare(a.file, b.file) || compare(a.id, b.id))
  let done = 0
  for (const { id, file } of sources) {
    if (taken.claim(file)) files.set(id, file)
    if (++done % nodesPerTurn === 0) await nextTurn()
  }
  const others = nodes.filter(({ id }) => !files.has(id))
  others.sort((a, b) => compare(a.title, b.title) || compare(a.id, b.id))
  for (const node of others) {
    for (const next of unplacedAbove(node).reverse()) {
      const parent = next.parent === undefined ? undefined : files.get(next.parent)
      for (const file of candidates(parent === undefined ? '' : childFolder(parent), next)) {
        if (fileOfSource(file) !== file || !taken.claim(file)) continue
        files.set(next.id, file)
        break
      }
    }
    if (++done % nodesPerTurn === 0) await nextTurn()
  }
  return files

  /** The node, its parent, and so on, up to one that has a file, or comes again. */
  function unplacedAbove(node: LaidNode): LaidNode[] {
    const chain = new Set<LaidNode>()
    for (
      let at: LaidNode | undefined = node;
      at && !files.has(at.id) && !chain.has(at);
      at = at.parent === undefined ? undefined : byId.get(at.parent)
    )
      chain.add(at)
    return [...chain]
  }
}

/** The folder of what lies below a note, '' for the root: its own where it is an index or has the folder's name. */
function childFolder(file: string): string {
  const folder = posix.dirname(file)
  const own = withoutEnding(file)
  const standsForIt = isIndex(file) || folded(posix.basename(own)) === folded(posix.basename(folder))
  const home = standsForIt ? (folder === '.' ? '' : folder) : own
  return Buffer.byteLength(home) > maxFolderBytes || home.split('/').length > maxDepth ? '' : home
}

/** Paths for a note, best first; the last ones never end. */
function* candidates(folder: string, { id, title }: LaidNode): Generator<string> {
  const name = noteName(title)
  yield posix.join(folder, `${name}.md`)
  // The end of an id: the beginning of ids that follow time is the same for many.
  yield posix.join(folder, `${name} (${id.slice(-8)}).md`)
  yield `${id}.md`
  for (let number = 2; ; number++) yield `${id} ${number}.md`
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
