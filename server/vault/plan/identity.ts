/**
 * Which node each place of a folder is: by the id in its front matter, else by its path, else by the id that its first import
 * gave it, else by the text of a file that is gone, else by the folder that it stands for. What remains is new. What is ambiguous is new as well, and a problem says so.
 */
import { v5 as uuidFrom } from 'uuid'
import type { PathProblem } from '../../domain/format/path-problem.ts'
import { folded, isMarkdown } from '../format/note-names.ts'
import { keysOf, type Place, pathOf, type Tree } from '../format/tree.ts'
import type { Document } from '../read/document.ts'
import { moveFolders } from './folder-moves.ts'
import { identityText } from './identity-text.ts'
import type { Inventory, KnownNode } from './inventory.ts'
import { type Candidate, type Renames, sameNames, sameTexts, similarTexts } from './renames.ts'
import { writtenIds } from './written-ids.ts'

export interface Identities {
  readonly idOf: (place: Place) => string
  /** The node that the organisation has for the place. */
  readonly nodeOf: (place: Place) => KnownNode | undefined
  /** Nodes of this vault whose file or folder is gone. */
  readonly gone: readonly KnownNode[]
  readonly problems: readonly PathProblem[]
}

/** @param isPresent whether a file or folder of that path is there, imported or not */
export async function identify(
  tree: Tree,
  documents: ReadonlyMap<string, Document>,
  inventory: Inventory,
  isPresent: (path: string) => boolean,
): Promise<Identities> {
  const { orgId } = inventory
  const nodes = new Map<Place, KnownNode>()
  const claimed = new Set<string>()
  const problems: PathProblem[] = []
  const written = await writtenIds(tree, documents, inventory)
  for (const one of written.problems) problems.push(one)
  for (const [place, node] of written.nodes) claim(place, node)

  const imported = inventory.nodes.filter(({ path }) => path !== undefined)
  const byPath = new Map(imported.toReversed().map((node) => [node.path, node]))
  for (const place of open()) claim(place, byPath.get(pathOf(place)))
  // A client that sets all properties of a node anew takes its path away. Only an import makes such an id.
  const unmarked = inventory.guest === undefined ? inventory.nodes.filter(({ isUnmarked }) => isUnmarked) : []
  const byId = new Map(unmarked.map((node) => [node.id, node]))
  for (const place of open()) claim(place, byId.get(uuidFrom(place.key, orgId)))

  const isGone = ({ id, path }: KnownNode) => !claimed.has(id) && path !== undefined && !isPresent(path)
  const doubtful = new Set<string>()
  if (imported.some(isGone)) {
    take(await sameTexts(contents(goneFiles()), texts()))
    claimByKey()
    take(sameNames(pathsOf(goneFiles()), newFiles()))
    take(await similarTexts(contents(goneFiles()), texts()))
    const moves = moveFolders({ nodes, known: imported, isGone })
    for (const [place, node] of moves.nodes) claim(place, node)
    for (const one of moves.problems) problems.push(one)
  }

  const ids = new Map<Place, string>()
  const used = new Set(inventory.nodes.map(({ id }) => id))
  for (const id of written.fresh.values()) used.add(id)
  for (const place of tree.places) ids.set(place, nodes.get(place)?.id ?? written.fresh.get(place) ?? derivedId(place))
  return { idOf, nodeOf: (place) => nodes.get(place), gone: imported.filter(isGone), problems }

  function idOf(place: Place): string {
    const id = ids.get(place)
    if (id === undefined) throw new Error(`a tree has an id for ${place.key}`)
    return id
  }

  function claim(place: Place, node: KnownNode | undefined): void {
    if (!node || claimed.has(node.id) || nodes.has(place)) return
    nodes.set(place, node)
    claimed.add(node.id)
  }

  /** Places that no node is found for; the id of a new one may be written in its file. */
  function open(): Place[] {
    return tree.places.filter((place) => !nodes.has(place))
  }

  function newFiles(): string[] {
    const files = open().map(({ file }) => file)
    return files.filter((file) => file !== undefined && !doubtful.has(file)) as string[] // undefined ones are left out
  }

  function goneFiles(): KnownNode[] {
    return imported.filter((node) => isGone(node) && isMarkdown(node.path ?? '') && !doubtful.has(node.path ?? ''))
  }

  function* texts(): Generator<Candidate> {
    for (const path of newFiles()) {
      const document = documents.get(path)
      if (document) yield { path, text: identityText(document.tags, document.properties, document.body) }
    }
  }

  async function* contents(gone: readonly KnownNode[]): AsyncGenerator<Candidate> {
    if (gone.length === 0 || newFiles().length === 0) return
    const paths = new Map(gone.map(({ id, path = '' }) => [id, path]))
    for await (const { id, tags, properties, text } of inventory.contentsOf([...paths.keys()]))
      yield { path: paths.get(id) ?? '', text: identityText(tags, properties, text) }
  }

  function take(renames: Renames): void {
    for (const [fresh, gone] of renames.from) {
      const place = tree.byFile.get(fresh)
      if (place) claim(place, byPath.get(gone))
    }
    for (const path of renames.ambiguous) doubtful.add(path)
    for (const one of renames.problems) problems.push(one)
  }

  /** A note that has got a folder or another ending, a folder that has got an index, or the other way round. */
  function claimByKey(): void {
    const byKey = new Map<string, KnownNode[]>()
    for (const node of imported.filter(isGone))
      for (const key of keysOf(node.path ?? '')) byKey.set(folded(key), [...(byKey.get(folded(key)) ?? []), node])
    for (const place of open()) {
      const [node, ...others] = byKey.get(folded(place.key)) ?? []
      if (others.length === 0) claim(place, node)
    }
  }

  /** From the organisation and the key, so that two runs at once make the same; another one where a renamed node has it. */
  function derivedId({ key }: Place): string {
    for (let attempt = 0; ; attempt++) {
      const id = uuidFrom(attempt === 0 ? key : `${key}\0${attempt}`, orgId)
      if (used.has(id)) continue
      used.add(id)
      return id
    }
  }
}

function pathsOf(nodes: readonly KnownNode[]): string[] {
  return nodes.map(({ path = '' }) => path)
}
