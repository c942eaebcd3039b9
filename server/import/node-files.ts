/** A planned node's own files, in the public format of a repository, the same bytes each time. */

import { edgeFile, nodeFile, textFile } from '../domain/format/paths.ts'
import { connectionId } from '../domain/vault/connection-ids.ts'
import type { Place } from '../domain/vault/tree.ts'
import type { Connection } from './connections.ts'
import type { Document } from './document.ts'

/**
 * @param document undefined: a folder without a text of its own
 * @param titleOf the titles of the nodes it is connected to: a label that repeats one says nothing
 */
export function nodeFiles(
  place: Place,
  document: Document | undefined,
  connections: readonly Connection[],
  titleOf: (place: Place) => string,
): Map<string, Buffer> {
  const { tags = [], properties = { source_path: place.folder } } = document ?? {}
  const files = new Map([[nodeFile, json({ title: titleOf(place), tags, properties })]])
  if (document && document.body !== '') files.set(textFile, Buffer.from(document.body))
  if (place.parent) files.set(edgeFile('parents', place.parent.id), json({}))
  for (const { target, type, label } of connections) {
    const words = label === '' || label === titleOf(target) ? {} : { label }
    files.set(
      edgeFile('connections', connectionId(target.key, type, target.id)),
      json({ target: target.id, type, ...words }),
    )
  }
  return files
}

/** Bytes that a node.json may have. */
const maxBytes = 1_048_576

/** On one line where it is too much with lines of its own. */
function json(value: unknown): Buffer {
  const indented = Buffer.from(`${JSON.stringify(value, null, 2)}\n`)
  return indented.length <= maxBytes ? indented : Buffer.from(`${JSON.stringify(value)}\n`)
}
