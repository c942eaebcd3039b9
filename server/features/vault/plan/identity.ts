/**
 * Matches each place of a folder to a node.
 *
 * The first of these that fits decides:
 *
 * 1. the id in the front matter
 * 2. the path
 * 3. the id that the first import derived
 * 4. the text of a missing file
 * 5. the folder that the place represents
 *
 * All other places are new. Ambiguous places are also new, and are reported as problems.
 */

import { v5 as uuidFrom } from 'uuid'
import type { PathProblem } from '../../../domain/format/path-problem.ts'
import { folded, isMarkdown } from '../../../markdown/note-names.ts'
import { keysOf, type Place, pathOf, type Tree } from '../../../markdown/tree.ts'
import { sourceFilesKey } from '../../../markdown/vault-paths.ts'
import type { Document } from '../read/document.ts'
import { sourcePathKey } from '../read/statement.ts'
import { moveFolders } from './folder-moves.ts'
import { guestProperty, type Inventory, type KnownNode } from './inventory.ts'
import { type Candidate, type Renames, sameNames, sameTexts, similarTexts } from './renames.ts'

export interface Identities {
  readonly idOf: (place: Place) => string
  /** Returns the existing node of the place, if any. */
  readonly nodeOf: (place: Place) => KnownNode | undefined
  /** Nodes of this vault whose file or folder is gone. */
  readonly gone: readonly KnownNode[]
  readonly problems: readonly PathProblem[]
}

/** @param isPresent true if a file or folder with the path exists, imported or not */
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
  // A client that replaces all properties of a node removes its path. Only an import derives such an id.
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

/** The matches found so far. Each place is one node, and each node is at one place. */
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

  /** Returns the places without a match. The file of a new one may state its id. */
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

/** Finds the nodes of moved files and folders, the most certain matches first. */
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

/** Matches notes whose folder or ending changed, and folders that gained or lost an index. */
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

/** Returns the id of each place. It is its node's, else the one in its file, else a new one. */
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

  /**
   * Derives an id from the organisation and the key.
   *
   * Two simultaneous runs derive the same id. If a renamed node already has it, another one is derived.
   */
  function derivedId({ key }: Place): string {
    for (let attempt = 0; ; attempt++) {
      const id = uuidFrom(attempt === 0 ? key : `${key}\0${attempt}`, inventory.orgId)
      if (used.has(id)) continue
      used.add(id)
      return id
    }
  }
}

/** The properties that record the location of a note. */
const placing: readonly string[] = ['id', sourcePathKey, sourceFilesKey, guestProperty]

/** Returns the part of a note that a move does not change. Text, tags and properties; '' if it is empty. */
function identityText(tags: readonly string[], properties: Readonly<Record<string, unknown>>, body: string): string {
  const own = Object.entries(properties).filter(([name]) => !placing.includes(name))
  if (tags.length === 0 && own.length === 0) return body.trim() === '' ? '' : body
  return `${JSON.stringify({ tags, ...Object.fromEntries(own) }, null, 1)}\n${body}`
}

/** The ids in the front matter of files, for existing nodes and for new ones. */
interface WrittenIds {
  readonly nodes: ReadonlyMap<Place, KnownNode>
  /** Ids that no node has yet. They are for places that do not match an existing node. */
  readonly fresh: ReadonlyMap<Place, string>
  readonly problems: readonly PathProblem[]
}

/** Reads the ids in front matter. If several files have the same id, only the file at the node's path keeps it. */
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
      const reason = elsewhere.has(id) ? 'is already in use' : owner === path ? undefined : shared(paths, owner)
      if (reason !== undefined) problems.push({ path, reason: `its id ${id} was ignored: it ${reason}` })
    }
    const place = owner === undefined || elsewhere.has(id) ? undefined : tree.byFile.get(owner)
    if (place && node) nodes.set(place, node)
    else if (place) fresh.set(place, id)
  }
  return { nodes, fresh, problems }
}

function shared(paths: readonly string[], owner: string | undefined): string {
  return owner === undefined ? `is the id of ${paths.length} files` : `is the id of ${owner}`
}
