/**
 * Which node each place of a folder is: by the id in its front matter, else by its path, else by the id that its first import
 * gave it, else by the text of a file that is gone, else by the folder that it stands for. What remains is new. What is
 * ambiguous is new as well, and a problem says so.
 */

import { v5 as uuidFrom } from 'uuid'
import type { PathProblem } from '../../domain/format/path-problem.ts'
import { folded, isMarkdown } from '../../markdown/note-names.ts'
import { keysOf, type Place, pathOf, type Tree } from '../../markdown/tree.ts'
import { sourceFilesKey } from '../../markdown/vault-paths.ts'
import type { Document } from '../read/document.ts'
import { sourcePathKey } from '../read/statement.ts'
import { moveFolders } from './folder-moves.ts'
import { guestProperty, type Inventory, type KnownNode } from './inventory.ts'
import { type Candidate, type Renames, sameNames, sameTexts, similarTexts } from './renames.ts'

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
  const found = new FoundNodes(tree)
  const written = await writtenIds(tree, documents, inventory)
  for (const one of written.problems) found.problems.push(one)
  for (const [place, node] of written.nodes) found.claim(place, node)

  const imported = inventory.nodes.filter(({ path }) => path !== undefined)
  const byPath = new Map(imported.toReversed().map((node) => [node.path, node]))
  for (const place of found.openPlaces()) found.claim(place, byPath.get(pathOf(place)))
  // A client that sets all properties of a node anew takes its path away. Only an import makes such an id.
  const unmarked = inventory.guest === undefined ? inventory.nodes.filter(({ isUnmarked }) => isUnmarked) : []
  const byId = new Map(unmarked.map((node) => [node.id, node]))
  for (const place of found.openPlaces()) found.claim(place, byId.get(uuidFrom(place.key, inventory.orgId)))

  const isGone = (node: KnownNode) => !found.has(node) && node.path !== undefined && !isPresent(node.path)
  if (imported.some(isGone)) await findMoved(found, { tree, documents, inventory, imported, isGone })
  const ids = idsOf(tree, found, written.fresh, inventory)
  return { idOf, nodeOf: (place) => found.nodes.get(place), gone: imported.filter(isGone), problems: found.problems }

  function idOf(place: Place): string {
    const id = ids.get(place)
    if (id === undefined) throw new Error(`a tree has an id for ${place.key}`)
    return id
  }
}

/** The nodes that places are found to be so far: each place is one node, and each node is at one place. */
class FoundNodes {
  readonly nodes = new Map<Place, KnownNode>()
  readonly problems: PathProblem[] = []
  readonly #claimed = new Set<string>()
  readonly #tree: Tree

  constructor(tree: Tree) {
    this.#tree = tree
  }

  claim(place: Place, node: KnownNode | undefined): void {
    if (!node || this.has(node) || this.nodes.has(place)) return
    this.nodes.set(place, node)
    this.#claimed.add(node.id)
  }

  has({ id }: KnownNode): boolean {
    return this.#claimed.has(id)
  }

  /** Places that no node is found for; the id of a new one may be written in its file. */
  openPlaces(): Place[] {
    return this.#tree.places.filter((place) => !this.nodes.has(place))
  }
}

interface Moving {
  readonly tree: Tree
  readonly documents: ReadonlyMap<string, Document>
  readonly inventory: Inventory
  /** The nodes that have a path. */
  readonly imported: readonly KnownNode[]
  readonly isGone: (node: KnownNode) => boolean
}

/** Finds the nodes of files and folders that were moved, the surest ones first. */
async function findMoved(found: FoundNodes, { tree, documents, inventory, imported, isGone }: Moving): Promise<void> {
  const byPath = new Map(imported.toReversed().map((node) => [node.path, node]))
  const doubtful = new Set<string>()
  take(await sameTexts(contents(goneFiles()), texts()))
  claimByKey(found, imported.filter(isGone))
  take(sameNames(pathsOf(goneFiles()), newFiles()))
  take(await similarTexts(contents(goneFiles()), texts()))
  const moves = moveFolders({ nodes: found.nodes, known: imported, isGone })
  for (const [place, node] of moves.nodes) found.claim(place, node)
  for (const one of moves.problems) found.problems.push(one)

  function newFiles(): string[] {
    const files = found.openPlaces().map(({ file }) => file)
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
      if (place) found.claim(place, byPath.get(gone))
    }
    for (const path of renames.ambiguous) doubtful.add(path)
    for (const one of renames.problems) found.problems.push(one)
  }
}

/** A note that has got a folder or another ending, a folder that has got an index, or the other way round. */
function claimByKey(found: FoundNodes, gone: readonly KnownNode[]): void {
  const byKey = new Map<string, KnownNode[]>()
  for (const node of gone)
    for (const key of keysOf(node.path ?? '')) byKey.set(folded(key), [...(byKey.get(folded(key)) ?? []), node])
  for (const place of found.openPlaces()) {
    const [node, ...others] = byKey.get(folded(place.key)) ?? []
    if (others.length === 0) found.claim(place, node)
  }
}

function pathsOf(nodes: readonly KnownNode[]): string[] {
  return nodes.map(({ path = '' }) => path)
}

/** The id of each place: that of its node, else the one that its file names, else a new one. */
function idsOf(
  tree: Tree,
  { nodes }: FoundNodes,
  fresh: ReadonlyMap<Place, string>,
  inventory: Inventory,
): ReadonlyMap<Place, string> {
  const ids = new Map<Place, string>()
  const used = new Set(inventory.nodes.map(({ id }) => id))
  for (const id of fresh.values()) used.add(id)
  for (const place of tree.places) ids.set(place, nodes.get(place)?.id ?? fresh.get(place) ?? derivedId(place))
  return ids

  /** From the organisation and the key, so that two runs at once make the same; another one where a renamed node has it. */
  function derivedId({ key }: Place): string {
    for (let attempt = 0; ; attempt++) {
      const id = uuidFrom(attempt === 0 ? key : `${key}\0${attempt}`, inventory.orgId)
      if (used.has(id)) continue
      used.add(id)
      return id
    }
  }
}

/** Properties that say where a note is. */
const placing: readonly string[] = ['id', sourcePathKey, sourceFilesKey, guestProperty]

/** The part of a note that stays the same when its file moves: text, tags and properties. '' if the note says nothing. */
function identityText(tags: readonly string[], properties: Readonly<Record<string, unknown>>, body: string): string {
  const own = Object.entries(properties).filter(([name]) => !placing.includes(name))
  if (tags.length === 0 && own.length === 0) return body.trim() === '' ? '' : body
  return `${JSON.stringify({ tags, ...Object.fromEntries(own) }, null, 1)}\n${body}`
}

/** The ids that files name in their front matter: of nodes that the organisation has, and of new ones. */
interface WrittenIds {
  readonly nodes: ReadonlyMap<Place, KnownNode>
  /** Ids that no node has: of the node that the file becomes, unless it is one already. */
  readonly fresh: ReadonlyMap<Place, string>
  readonly problems: readonly PathProblem[]
}

/** Of several files with one id, the one at the path of its node has it; else none. */
async function writtenIds(
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
