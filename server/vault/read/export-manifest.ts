/** Which files of a folder an export wrote, and with which bytes: only those are ever replaced or removed. */
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { appendFile, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFile } from '../../../gitstore/durable.ts'
import { isAbsent } from '../../../gitstore/fs-exists.ts'
import { openRegular, readRegular } from '../../../gitstore/regular-files.ts'
import { parseJson } from '../../domain/format/json-text.ts'
import { folded } from '../../markdown/note-names.ts'

/** Below the exported folder. Imports and Obsidian leave out what begins with a dot. */
export const ownFolder = '.grove'
const manifestFile = 'export.jsonl'
/** What an export writes that has not ended yet, or never did. */
const openFile = 'export-open.jsonl'
/** No link: another program may have put one there. */
const appending = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW

/** Bytes: 100,000 paths of 1 KiB, and more. */
const maxBytes = 256 * 1_048_576

export interface Manifest {
  readonly orgId: string
  /** The SHA-256 of what was written at each path, by folded path; several where an export did not end. */
  readonly hashes: ReadonlyMap<string, ReadonlySet<string>>
  /** As they were written. */
  readonly paths: readonly string[]
  /** The path of the note of each node, by its id; none of what was exported before version 1.0.0. */
  readonly notes: ReadonlyMap<string, string>
}

/** Undefined where the folder has none. @param dir a real path @throws Error where it cannot be read */
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
        orgId ??= (entry as { org_id?: string } | undefined)?.org_id // a line that is no list is a head
        continue
      }
      const [path, hash, id] = entry as Entry // what writeManifest and openManifest write
      paths.add(path)
      if (id !== undefined) notes.set(id, path)
      hashes.set(folded(path), (hashes.get(folded(path)) ?? new Set()).add(hash))
    }
  }
  return orgId === undefined ? undefined : { orgId, hashes, paths: [...paths], notes }
}

type Entry = [path: string, hash: string, nodeId?: string]

export interface ManifestFile {
  /** SHA-256. */
  readonly hash: string
  /** The node whose note it is. */
  readonly nodeId: string | undefined
}

/** Called with each file before it gets its name. */
export type Announce = (path: string, file: ManifestFile) => Promise<void>

/** @param own the folder `ownFolder` */
export async function openManifest(own: string, orgId: string): Promise<Announce> {
  const add = (line: unknown) => appendFile(join(own, openFile), `${JSON.stringify(line)}\n`, { flag: appending })
  await add(headOf(orgId))
  return (path, file) => add(entryOf(path, file))
}

/** @param own as openManifest @throws as replaceFile */
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

/** Bytes read at a time. */
const chunkBytes = 1_048_576

type Hashed = { readonly hash: string } | { readonly kind: string } | undefined

/** The SHA-256 of a regular file; of anything else, what it is; undefined for nothing. @param root as openRegular */
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
