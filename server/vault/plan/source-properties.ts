/** What a node's properties say of where its note and its files lie in the vault, so that an export puts them back there. */
import { propertiesLimit } from '../../domain/format/limits.ts'
import { type Place, pathOf } from '../../markdown/tree.ts'
import { fileOfSource, placeBeside, sourceFilesIn, sourceFilesKey } from '../../markdown/vault-paths.ts'
import type { Document } from '../read/document.ts'
import { sourcePathKey } from '../read/statement.ts'
import type { Attached } from './attachments.ts'
import { guestProperty } from './inventory.ts'

/** A file of a node. */
interface NodeFile {
  /** In the node's repository. */
  readonly path: string
  /** In the vault. */
  readonly source: string
}

/** The files of each node, by their paths in the repository. */
export function filesByPlace(attached: ReadonlyMap<string, readonly Attached[]>): ReadonlyMap<Place, NodeFile[]> {
  const files = new Map<Place, NodeFile[]>()
  for (const [source, places] of attached)
    for (const { place, path } of places) files.set(place, [...(files.get(place) ?? []), { path, source }])
  for (const list of files.values()) list.sort((a, b) => (a.path < b.path ? -1 : 1))
  return files
}

interface Sourced {
  readonly properties: Readonly<Record<string, unknown>>
  /** How many files an export will put beside the note, since the properties have no room for where they lie. */
  readonly forgotten: number
}

/**
 * The properties of a node with `source_path`, and with `source_files` where files lie elsewhere than an export puts them by
 * itself. A note that lies where an export has put it keeps what its node says.
 *
 * @param properties of the note itself
 * @param keepsStated whether the node is the one that was exported
 * @param guest the vault, where the organisation is another one's
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

/** The first of the files for which properties have room, and how many there are beyond. */
function fittingIn(
  properties: Readonly<Record<string, unknown>>,
  files: readonly (readonly [path: string, source: string])[],
): [readonly (readonly [string, string])[], number] {
  if (files.length === 0) return [files, 0]
  let bytes = bytesOf({ ...properties, [sourceFilesKey]: {} })
  const fitting = files.filter(([path, source]) => {
    bytes += bytesOf(path) + bytesOf(source) + 2
    return bytes <= propertiesLimit
  })
  return [fitting, files.length - fitting.length]
}

/** As JSON. */
function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}
