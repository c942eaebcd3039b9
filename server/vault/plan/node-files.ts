/** A planned node's own files, in the public format of a repository, the same bytes each time. */

import { connectionJson, parentJson } from '../../domain/format/node-files.ts'
import { edgeFile, nodeFile, textFile } from '../../domain/format/paths.ts'
import { connectionId } from '../../markdown/connection-ids.ts'
import type { Place } from '../../markdown/tree.ts'
import type { Document } from '../read/document.ts'
import type { Connection } from './connections.ts'

/** What the files of nodes say of each other. */
export interface Naming {
  readonly idOf: (place: Place) => string
  /** Titles: a label that repeats that of its target says nothing. */
  readonly titleOf: (place: Place) => string
}

/** The properties that a note gives its node: an id that is the node's own is not said twice. */
export function ownProperties(document: Document | undefined, nodeId: string): Readonly<Record<string, unknown>> {
  if (document === undefined) return {}
  const { id, ...others } = document.properties
  return document.stated === undefined && id === nodeId ? others : document.properties
}

/**
 * @param document undefined: a folder without a text of its own
 * @param properties of the node, with where it comes from
 */
export function nodeFiles(
  place: Place,
  document: Document | undefined,
  properties: Readonly<Record<string, unknown>>,
  connections: readonly Connection[],
  { idOf, titleOf }: Naming,
): Map<string, Buffer> {
  const files = new Map([[nodeFile, json({ title: titleOf(place), tags: document?.tags ?? [], properties })]])
  if (document && document.body !== '') files.set(textFile, Buffer.from(document.body))
  if (place.parent) files.set(edgeFile('parents', idOf(place.parent)), parentJson({ label: '' }))
  for (const [path, bytes] of connectionFiles(connections, { idOf, titleOf })) files.set(path, bytes)
  return files
}

/** The files of the connections that a text makes. */
export function* connectionFiles(
  connections: readonly Connection[],
  { idOf, titleOf }: Pick<Naming, 'idOf' | 'titleOf'>,
): Generator<readonly [path: string, bytes: Buffer]> {
  for (const { target, type, label } of connections) {
    const id = idOf(target)
    const bytes = connectionJson({ target: id, type, label: label === titleOf(target) ? '' : label })
    yield [edgeFile('connections', connectionId(target.key, type, id)), bytes]
  }
}

/** Bytes that a node.json may have. */
const maxBytes = 1_048_576

/** On one line where it is too much with lines of its own. */
export function json(value: unknown): Buffer {
  const indented = Buffer.from(`${JSON.stringify(value, null, 2)}\n`)
  return indented.length <= maxBytes ? indented : Buffer.from(`${JSON.stringify(value)}\n`)
}
