/**
 * Plans notes that an export wrote.
 *
 * Their nodes and files follow their statements. Folders that no note needs are not created as nodes.
 */
import { connectionJson, parentJson } from '../../../domain/format/node-files.ts'
import { edgeFile, nodeFile, textFile } from '../../../domain/format/paths.ts'
import { slugIn } from '../../../markdown/connection-ids.ts'
import { linkTypes } from '../../../markdown/markdown-facts.ts'
import type { Place, Tree } from '../../../markdown/tree.ts'
import type { Document } from '../read/document.ts'
import type { Sources } from '../read/sources.ts'
import type { Statement } from '../read/statement.ts'
import type { Attached } from './attachments.ts'
import type { Connection, Declares } from './connections.ts'
import { connectionFiles, json, type Naming } from './node-files.ts'

/** A note that states a file's path in the node's repository. */
interface Claim {
  readonly note: string
  readonly path: string
}

export type Claims = ReadonlyMap<string, readonly Claim[]>

/** Returns the files that notes claim for their nodes, by path. A note that is claimed itself does not count. */
export function claimsOf(documents: ReadonlyMap<string, Document>): Claims {
  const all = claimsIn(documents, () => true)
  return all.size === 0 ? all : claimsIn(documents, (note) => !all.has(note))
}

function claimsIn(documents: ReadonlyMap<string, Document>, isHeard: (note: string) => boolean): Map<string, Claim[]> {
  const claims = new Map<string, Claim[]>()
  for (const [note, { stated }] of documents)
    if (stated && isHeard(note))
      for (const [path, file] of stated.files) claims.set(file, [...(claims.get(file) ?? []), { note, path }])
  return claims
}

/** Turns notes that are files of nodes into ordinary files. */
export function withoutClaimed(sources: Sources, claims: Claims): Sources {
  const claimed = [...sources.documents.keys()].filter((path) => claims.has(path))
  if (claimed.length === 0) return sources
  const documents = new Map([...sources.documents].filter(([path]) => !claims.has(path)))
  return { ...sources, documents, others: [...sources.others, ...claimed].sort() }
}

/**
 * Assigns each file to the nodes that claim it and the others that show it.
 *
 * @param spread the assignment of files that are not claimed, or that a text shows
 */
export function withClaims(
  tree: Tree,
  claims: Claims,
  spread: ReadonlyMap<string, readonly Attached[]>,
): ReadonlyMap<string, readonly Attached[]> {
  const attached = new Map(spread)
  for (const [file, claimants] of claims) {
    const stated = claimants.flatMap(({ note, path }) => {
      const place = tree.byFile.get(note)
      return place ? [{ place, path }] : []
    })
    const isClaimed = ({ place }: Attached) => stated.some((other) => other.place === place)
    attached.set(file, [...stated, ...(spread.get(file) ?? []).filter((one) => !isClaimed(one))])
  }
  return attached
}

/**
 * Removes folders that nothing needs as nodes, if there are notes that state their parents.
 *
 * A folder stays a node if it contains a note without a statement, is a link's target, or has a file of no note.
 */
export function withoutIdleFolders(
  tree: Tree,
  documents: ReadonlyMap<string, Document>,
  connections: ReadonlyMap<Place, readonly Connection[]>,
  attached: ReadonlyMap<string, readonly Attached[]>,
): Tree {
  const statedAt = ({ file }: Place) => (file === undefined ? undefined : documents.get(file)?.stated)
  if (![...documents.values()].some(({ stated }) => stated)) return tree
  const needed = new Set<Place>()
  const need = (place: Place | undefined): void => {
    for (let at = place; at && !needed.has(at); at = statedAt(at) ? undefined : at.parent) needed.add(at)
  }
  for (const place of tree.byFile.values()) need(place)
  for (const list of connections.values()) for (const { target } of list) need(target)
  for (const list of attached.values()) for (const { place } of list) need(place)
  return { ...tree, places: tree.places.filter((place) => needed.has(place)) }
}

/** Maps the ids in statements to ids of nodes. A note may have got a new id; unknown ids stay the same. */
export function statedIds(
  tree: Tree,
  documents: ReadonlyMap<string, Document>,
  idOf: (place: Place) => string,
): (id: string) => string {
  const ids = new Map<string, string>()
  for (const [path, { stated }] of documents) {
    const place = tree.byFile.get(path)
    if (!stated || !place) continue
    const id = idOf(place)
    if (!ids.has(stated.id) || id === stated.id) ids.set(stated.id, id)
  }
  return (id) => ids.get(id) ?? id
}

interface StatedNaming extends Naming {
  /** Returns the id of the node that a statement names. */
  readonly nodeOf: (id: string) => string
  readonly declares: Declares
}

/**
 * Builds a planned node's own files as its note states them.
 *
 * If the note was edited, connections from its new text replace those that an import once created from the old text.
 *
 * @param properties the node's properties, including its source
 */
export function statedFiles(
  place: Place,
  document: Document & { readonly stated: Statement },
  properties: Readonly<Record<string, unknown>>,
  connections: readonly Connection[],
  naming: StatedNaming,
): Map<string, Buffer> {
  const { stated, tags, body } = document
  const { nodeOf, declares } = naming
  const files = new Map<string, Buffer>()
  if (!stated.isWhole) for (const [path, bytes] of connectionFiles(connections, naming)) files.set(path, bytes)
  files.set(nodeFile, json({ title: naming.titleOf(place), tags, properties, ...stated.others }))
  if (body !== '') files.set(textFile, Buffer.from(body))
  for (const { id, label } of stated.parents) files.set(edgeFile('parents', nodeOf(id)), parentJson({ label }))
  for (const { id, target, type, label } of stated.connections) {
    const isOfLink = ofTexts.has(type) || declares(document.properties, type)
    const isOfText = isOfLink && slugIn({ id, target, type }) !== undefined
    if (!stated.isWhole && isOfText) continue
    files.set(edgeFile('connections', id), connectionJson({ target: nodeOf(target), type, label }))
  }
  return files
}

const ofTexts: ReadonlySet<string> = new Set(linkTypes)
