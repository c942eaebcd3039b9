/** A planned node's own files, in the public format of a repository, the same bytes each time. */

import { edgeFile, nodeFile, textFile } from '../domain/format/paths.ts'
import { connectionId } from '../domain/vault/connection-ids.ts'
import type { Place } from '../domain/vault/tree.ts'
import type { Connection } from './connections.ts'
import type { Document } from './document.ts'
import { guestProperty } from './inventory.ts'

/** What the files of nodes say of each other. */
export interface Naming {
  readonly idOf: (place: Place) => string
  /** Titles: a label that repeats that of its target says nothing. */
  readonly titleOf: (place: Place) => string
  /** The vault, where the organisation is another one's. */
  readonly guest: string | undefined
}

/** @param document undefined: a folder without a text of its own */
export function nodeFiles(
  place: Place,
  document: Document | undefined,
  connections: readonly Connection[],
  { idOf, titleOf, guest }: Naming,
): Map<string, Buffer> {
  const { id, ...others } = document?.properties ?? { source_path: place.folder }
  // An id that is the node's own is not said twice.
  const kept = document === undefined || id === undefined || id === idOf(place) ? others : document.properties
  const properties = guest === undefined ? kept : { ...kept, [guestProperty]: guest }
  const files = new Map([[nodeFile, json({ title: titleOf(place), tags: document?.tags ?? [], properties })]])
  if (document && document.body !== '') files.set(textFile, Buffer.from(document.body))
  if (place.parent) files.set(edgeFile('parents', idOf(place.parent)), json({}))
  for (const [path, bytes] of connectionFiles(connections, { idOf, titleOf })) files.set(path, bytes)
  return files
}

/** The files of the connections that a text makes. */
export function* connectionFiles(
  connections: readonly Connection[],
  { idOf, titleOf }: Pick<Naming, 'idOf' | 'titleOf'>,
): Generator<readonly [path: string, bytes: Buffer]> {
  for (const { target, type, label } of connections) {
    const words = label === '' || label === titleOf(target) ? {} : { label }
    const id = idOf(target)
    yield [edgeFile('connections', connectionId(target.key, type, id)), json({ target: id, type, ...words })]
  }
}

/** Bytes that a node.json may have. */
const maxBytes = 1_048_576

/** On one line where it is too much with lines of its own. */
export function json(value: unknown): Buffer {
  const indented = Buffer.from(`${JSON.stringify(value, null, 2)}\n`)
  return indented.length <= maxBytes ? indented : Buffer.from(`${JSON.stringify(value)}\n`)
}
