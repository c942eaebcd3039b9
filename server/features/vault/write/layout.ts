/** Chooses the path of each exported node. It is the source path, else the title below the first parent. */
import { posix } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { folded, withoutEnding } from '../../../markdown/note-names.ts'
import { isIndex } from '../../../markdown/tree.ts'
import { fileOfSource, noteName } from '../../../markdown/vault-paths.ts'

export interface LaidNode {
  readonly id: string
  readonly title: string
  /** The property `source_path`. */
  readonly source: string | undefined
  /** The id of the first parent. */
  readonly parent: string | undefined
}

/** Number of nodes between two turns of the event loop: about 5 ms. */
const nodesPerTurn = 500
/** Limits of a folder. Beyond them a note is in the root, because the files next to it also need room. */
const maxFolderBytes = 400
const maxDepth = 24

/** The paths in use. Paths are equal if they differ only in case or Unicode normal form. */
export class TakenPaths {
  /** The content for which each path was claimed, by folded path. */
  readonly #files = new Map<string, string>()
  readonly #folders = new Set<string>()

  /** Claims a path. Returns true if it was free. */
  claim(path: string, content: string = path): boolean {
    const folders = foldersAbove(path).map(folded)
    const name = folded(path)
    if (this.#files.has(name) || this.#folders.has(name) || folders.some((folder) => this.#files.has(folder)))
      return false
    this.#files.set(name, content)
    for (const folder of folders) this.#folders.add(folder)
    return true
  }

  /** Returns the content for which the path was claimed, in any spelling. */
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
 * Returns the path of each node, by id.
 *
 * The paths do not depend on the order of the nodes. If an import makes each path the `source_path` of its node, a new
 * layout gives the same paths. 100,000 nodes take 1.5 s, with turns of the event loop in between.
 */
export async function layOut(nodes: readonly LaidNode[], taken: TakenPaths): Promise<Map<string, string>> {
  const files = new Map<string, string>()
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const sources = nodes.flatMap((node) => {
    const file = node.source === undefined ? undefined : fileOfSource(node.source)
    return file === undefined ? [] : [{ id: node.id, file, isExact: file === node.source }]
  })
  // A note at its own path has priority over a folder that would get an index there.
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

  /** Returns the node and its ancestors, up to one that has a path or repeats. */
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

/** Returns the folder for children of a note. It is the note's own folder if the note is an index or namesake of it. */
function childFolder(file: string): string {
  const folder = posix.dirname(file)
  const own = withoutEnding(file)
  const standsForIt = isIndex(file) || folded(posix.basename(own)) === folded(posix.basename(folder))
  const home = standsForIt ? (folder === '.' ? '' : folder) : own
  return Buffer.byteLength(home) > maxFolderBytes || home.split('/').length > maxDepth ? '' : home
}

/** Returns an endless series of paths for a note, best first. */
function* candidates(folder: string, { id, title }: LaidNode): Generator<string> {
  const name = noteName(title)
  yield posix.join(folder, `${name}.md`)
  // The end of the id, because time-ordered ids often share their beginning.
  yield posix.join(folder, `${name} (${id.slice(-8)}).md`)
  yield `${id}.md`
  for (let number = 2; ; number++) yield `${id} ${number}.md`
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
