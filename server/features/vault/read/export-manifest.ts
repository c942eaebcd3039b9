/** The manifest of an export: the files that it wrote, with hashes. Only these are ever replaced or removed. */
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { appendFile, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFile } from '../../../../gitstore/durable.ts'
import { isAbsent } from '../../../../gitstore/fs-exists.ts'
import { openRegular, readRegular } from '../../../../gitstore/regular-files.ts'
import { parseJson } from '../../../domain/format/json-text.ts'
import { folded } from '../../../markdown/note-names.ts'

/** The folder of the manifest, in the exported folder. Imports and Obsidian skip names that begin with a dot. */
export const ownFolder = '.grove'
const manifestFile = 'export.jsonl'
/** The manifest of an export that is running or was interrupted. */
const openFile = 'export-open.jsonl'
/** Follows no link, because another program may have created one. */
const appending = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW

/** Largest manifest in bytes: more than 100,000 paths of 1 KiB. */
const maxBytes = 256 * 1_048_576

export interface Manifest {
  readonly orgId: string
  /** The SHA-256 of the content at each path, by folded path. Several if an export was interrupted. */
  readonly hashes: ReadonlyMap<string, ReadonlySet<string>>
  /** The paths as they were written. */
  readonly paths: readonly string[]
  /** The path of each node's note, by node id. Exports before version 1.0.0 have none. */
  readonly notes: ReadonlyMap<string, string>
}

/** Reads the manifest; undefined if it is missing. @param dir a real path @throws Error if it cannot be read */
export async function readManifest(dir: string): Promise<Manifest | undefined> {
  const hashes = new Map<string, Set<string>>()
  const paths = new Set<string>()
  const notes = new Map<string, string>()
  let orgId: string | undefined
  for (const file of [join(ownFolder, manifestFile), join(ownFolder, openFile)]) {
    const bytes = await readRegular(join(dir, file), maxBytes, dir)
    if (bytes === undefined) continue
    if (typeof bytes === 'string') throw new Error(`${file} ${bytes}`)
    for (const line of bytes.toString().split('\n')) {
      const entry = parseJson(line)
      if (!Array.isArray(entry)) {
        orgId ??= (entry as { org_id?: string } | undefined)?.org_id // any other line is a head
        continue
      }
      const [path, hash, id] = entry as Entry // written by writeManifest and openManifest
      paths.add(path)
      if (id !== undefined) notes.set(id, path)
      hashes.set(folded(path), (hashes.get(folded(path)) ?? new Set()).add(hash))
    }
  }
  return orgId === undefined ? undefined : { orgId, hashes, paths: [...paths], notes }
}

type Entry = [path: string, hash: string, nodeId?: string]

export interface ManifestFile {
  /** The SHA-256. */
  readonly hash: string
  /** The id of the node, if the file is its note. */
  readonly nodeId: string | undefined
}

/** Records a file in the open manifest. Called before the file gets its name. */
export type Announce = (path: string, file: ManifestFile) => Promise<void>

/** Starts the manifest of a running export. @param own the folder `ownFolder` */
export async function openManifest(own: string, orgId: string): Promise<Announce> {
  const add = (line: unknown) => appendFile(join(own, openFile), `${JSON.stringify(line)}\n`, { flag: appending })
  await add(headOf(orgId))
  return (path, file) => add(entryOf(path, file))
}

/** Writes the manifest of a finished export. @param own the folder `ownFolder` @throws the errors of replaceFile */
export async function writeManifest(
  own: string,
  orgId: string,
  files: ReadonlyMap<string, ManifestFile>,
): Promise<void> {
  const entries = [...files].map(([path, file]) => entryOf(path, file))
  const lines = [headOf(orgId), ...entries].map((line) => `${JSON.stringify(line)}\n`)
  await replaceFile(join(own, manifestFile), lines.join(''))
  await unlink(join(own, openFile)).catch((error: unknown) => {
    if (!isAbsent(error)) throw error
  })
}

function entryOf(path: string, { hash, nodeId }: ManifestFile): Entry {
  return nodeId === undefined ? [path, hash] : [path, hash, nodeId]
}

function headOf(orgId: string) {
  return { export: 1, org_id: orgId }
}

/** Number of bytes read at a time. */
const chunkBytes = 1_048_576

type Hashed = { readonly hash: string } | { readonly kind: string } | undefined

/** Returns the SHA-256 of a regular file, or the kind of another file. Undefined if the path does not exist. */
export async function hashOf(path: string, root?: string): Promise<Hashed> {
  const file = await openRegular(path, root)
  if (file === undefined) return undefined
  if (typeof file === 'string') return { kind: file }
  try {
    const hash = createHash('sha256')
    for (;;) {
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(chunkBytes), 0, chunkBytes)
      if (bytesRead === 0) return { hash: hash.digest('hex') }
      hash.update(buffer.subarray(0, bytesRead))
    }
  } finally {
    await file.close()
  }
}
