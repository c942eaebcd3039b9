/** The ids that files name in their front matter: of nodes that the organisation has, and of new ones. */
import type { PathProblem } from '../../domain/format/path-problem.ts'
import type { Place, Tree } from '../format/tree.ts'
import type { Document } from '../read/document.ts'
import type { Inventory, KnownNode } from './inventory.ts'

interface WrittenIds {
  readonly nodes: ReadonlyMap<Place, KnownNode>
  /** Ids that no node has: of the node that the file becomes, unless it is one already. */
  readonly fresh: ReadonlyMap<Place, string>
  readonly problems: readonly PathProblem[]
}

/** Of several files with one id, the one at the path of its node has it; else none. */
export async function writtenIds(
  tree: Tree,
  documents: ReadonlyMap<string, Document>,
  inventory: Inventory,
): Promise<WrittenIds> {
  const files = new Map<string, string[]>()
  for (const [path, { id }] of documents) if (id !== undefined) files.set(id, [...(files.get(id) ?? []), path])
  const known = new Map(inventory.nodes.map((node) => [node.id, node]))
  const unknown = [...files.keys()].filter((id) => !known.has(id))
  const elsewhere = unknown.length === 0 ? new Set<string>() : await inventory.takenElsewhere(unknown)
  const nodes = new Map<Place, KnownNode>()
  const fresh = new Map<Place, string>()
  const problems: PathProblem[] = []
  for (const [id, paths] of files) {
    const node = known.get(id)
    const owner = paths.length === 1 ? paths[0] : paths.find((path) => path === node?.path)
    for (const path of paths) {
      const reason = elsewhere.has(id) ? 'is taken' : owner === path ? undefined : shared(paths, owner)
      if (reason !== undefined) problems.push({ path, reason: `its id ${id} is not used: it ${reason}` })
    }
    const place = owner === undefined || elsewhere.has(id) ? undefined : tree.byFile.get(owner)
    if (place && node) nodes.set(place, node)
    else if (place) fresh.set(place, id)
  }
  return { nodes, fresh, problems }
}

function shared(paths: readonly string[], owner: string | undefined): string {
  return owner === undefined ? `is that of ${paths.length} files` : `is that of ${owner}`
}
