/** Builds a planned node's own files in the repository format. The bytes are always the same. */

import * as limits from '../../../base/limits.ts'
import { connectionJson, parentJson } from '../../../domain/format/node-files.ts'
import { edgeFile, nodeFile, textFile } from '../../../domain/format/paths.ts'
import { connectionId } from '../../../markdown/connection-ids.ts'
import type { Place } from '../../../markdown/tree.ts'
import type { Document } from '../read/document.ts'
import type { Connection } from './connections.ts'

/** The ids and titles by which files of nodes refer to other nodes. */
export interface Naming {
  readonly idOf: (place: Place) => string
  /** Returns the title. A label that only repeats the target's title is omitted. */
  readonly titleOf: (place: Place) => string
}

/** Returns the properties that a note gives its node, without the node's own id. */
export function ownProperties(document: Document | undefined, nodeId: string): Readonly<Record<string, unknown>> {
  if (document === undefined) return {}
  const { id, ...others } = document.properties
  return document.stated === undefined && id === nodeId ? others : document.properties
}

/**
 * @param document undefined for a folder without its own text
 * @param properties the node's properties, including its source
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

/** Returns the files of a text's connections. */
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

/** Writes indented JSON, or a single line if the indented JSON is too large. */
export function json(value: unknown): Buffer {
  const indented = Buffer.from(`${JSON.stringify(value, null, 2)}\n`)
  return indented.length <= limits.nodeJsonBytes ? indented : Buffer.from(`${JSON.stringify(value)}\n`)
}
