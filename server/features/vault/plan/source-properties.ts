/** Records the vault paths of a note and its files in the node's properties. An export uses them. */

import * as limits from '../../../base/limits.ts'
import { type Place, pathOf } from '../../../markdown/tree.ts'
import { fileOfSource, placeBeside, sourceFilesIn, sourceFilesKey } from '../../../markdown/vault-paths.ts'
import type { Document } from '../read/document.ts'
import { sourcePathKey } from '../read/statement.ts'
import type { Attached } from './attachments.ts'
import { guestProperty } from './inventory.ts'

/** A file of a node. */
interface NodeFile {
  /** The path in the node's repository. */
  readonly path: string
  /** The path in the vault. */
  readonly source: string
}

/** Returns the files of each node, sorted by their paths in the repository. */
export function filesByPlace(attached: ReadonlyMap<string, readonly Attached[]>): ReadonlyMap<Place, NodeFile[]> {
  const files = new Map<Place, NodeFile[]>()
  for (const [source, places] of attached)
    for (const { place, path } of places) files.set(place, [...(files.get(place) ?? []), { path, source }])
  for (const list of files.values()) list.sort((a, b) => (a.path < b.path ? -1 : 1))
  return files
}

interface Sourced {
  readonly properties: Readonly<Record<string, unknown>>
  /** The number of files whose paths do not fit. An export writes these next to the note. */
  readonly forgotten: number
}

/**
 * Adds `source_path` to the properties, and `source_files` for files that an export would write elsewhere.
 *
 * A note that is still where an export wrote it keeps the values of its node.
 *
 * @param properties the note's own properties
 * @param keepsStated true if the node is the one that was exported
 * @param guest the vault, if the organisation belongs to another one
 */
export function withSource(
  place: Place,
  document: Document | undefined,
  properties: Readonly<Record<string, unknown>>,
  files: readonly NodeFile[],
  { keepsStated, guest }: { readonly keepsStated: boolean; readonly guest: string | undefined },
): Sourced {
  const { stated } = document ?? {}
  const kept = keepsStated && guest === undefined && stated?.source?.at === place.file ? stated?.source : undefined
  const path = kept ? kept.path : pathOf(place)
  const placed = path === undefined ? properties : { ...properties, [sourcePathKey]: path }
  const own = guest === undefined ? placed : { ...placed, [guestProperty]: guest }
  const isStated = ({ path, source }: NodeFile) => stated?.files.get(path) === source
  if (kept && files.every(isStated))
    return { properties: kept.files === undefined ? own : { ...own, [sourceFilesKey]: kept.files }, forgotten: 0 }
  const before = sourceFilesIn({ [sourceFilesKey]: kept?.files })
  const note = fileOfSource(pathOf(place)) ?? pathOf(place)
  const elsewhere = files.flatMap((file) => {
    const source = kept && isStated(file) ? before.get(file.path) : file.source
    const isFound = source === undefined || source === placeBeside(note, file.path, document?.body ?? '')
    return isFound ? [] : [[file.path, source] as const]
  })
  const [fitting, forgotten] = fittingIn(own, elsewhere)
  return {
    properties: fitting.length === 0 ? own : { ...own, [sourceFilesKey]: Object.fromEntries(fitting) },
    forgotten,
  }
}

/** Returns the files for which the properties have room, and the number of the rest. */
function fittingIn(
  properties: Readonly<Record<string, unknown>>,
  files: readonly (readonly [path: string, source: string])[],
): [readonly (readonly [string, string])[], number] {
  if (files.length === 0) return [files, 0]
  let bytes = bytesOf({ ...properties, [sourceFilesKey]: {} })
  const fitting = files.filter(([path, source]) => {
    bytes += bytesOf(path) + bytesOf(source) + 2
    return bytes <= limits.propertiesBytes
  })
  return [fitting, files.length - fitting.length]
}

/** Returns the size of a value as JSON. */
function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}
