/** Writes exported files into a folder; into the same one again, what has changed. Follows no symbolic links. */
import { createHash } from 'node:crypto'
import { lstat, open, rmdir, unlink } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { discard, makeFolder, nameFile, syncDirectory } from '../../gitstore/durable.ts'
import { codeOf, GitError, isStorageFault } from '../../gitstore/errors.ts'
import { isAbsent } from '../../gitstore/presence.ts'
import { openRegular } from '../../gitstore/regular-files.ts'
import type { PathProblem } from '../domain/format/path-problem.ts'
import type { ExportedFile } from '../domain/nodes/exports.ts'
import { folded } from '../domain/vault/note-names.ts'
import { type Manifest, openManifest, ownFolder, writeManifest } from './manifest.ts'

export interface WrittenFolder {
  readonly written: number
  readonly unchanged: number
  readonly removed: number
  /** Files that are kept as they are, since something else than an export wrote them, or that could not be read. */
  readonly problems: readonly PathProblem[]
}

/** Bytes read at a time. */
const chunkBytes = 1_048_576

/**
 * Replaces and removes only files whose bytes an export wrote. Each file appears whole. An export that does not end removes
 * nothing, and the next one goes on.
 *
 * @param dir absolute
 * @param before of the last export into the folder
 * @param hasFaults whether nodes were left out so far: nothing is then removed
 * @throws GitError storage_*; system errors; what the files' iterator throws
 */
export async function writeFolder(
  dir: string,
  orgId: string,
  before: Manifest | undefined,
  files: AsyncIterable<ExportedFile>,
  hasFaults: () => boolean,
): Promise<WrittenFolder> {
  const problems: PathProblem[] = []
  const counts = { written: 0, unchanged: 0, removed: 0 }
  /** The SHA-256 of what the folder has of an export, by path. */
  const kept = new Map<string, string>()
  const exported = new Set<string>()
  /** Folders that are there and no links; those in which names are new. */
  const entered = new Set<string>()
  const folders = new Set<string>()
  let unreadable = false
  await makeFolder(join(dir, ownFolder))
  const announce = await openManifest(dir, orgId)
  const temporary = join(dir, ownFolder, `tmp-${process.pid}`)

  for await (const file of files) {
    exported.add(folded(file.path))
    try {
      const obstacle = await write(file)
      if (obstacle !== undefined) problems.push({ path: file.path, reason: obstacle })
    } catch (error) {
      if (!(error instanceof GitError) || isStorageFault(error)) throw error
      problems.push({ path: file.path, reason: error.message })
      unreadable = true
    }
  }
  if (hasFaults() || unreadable) {
    for (const path of before?.paths ?? []) if (!kept.has(path)) keepKnown(path)
  } else for (const path of before?.paths ?? []) await remove(path)
  for (const folder of folders) await syncDirectory(join(dir, folder))
  await writeManifest(dir, orgId, kept)
  return { ...counts, problems }

  /** Why the file could not be written. */
  async function write(file: ExportedFile): Promise<string | undefined> {
    const { path } = file
    const folder = posix.dirname(path)
    const obstacle = await enter(folder, true)
    if (obstacle !== undefined) return obstacle
    const there = await hashOf(join(dir, path))
    if (there !== undefined && !('hash' in there)) return `the one there ${there.kind}`
    const hash = await writeTemporary(file)
    try {
      if (there?.hash === hash) {
        kept.set(path, hash)
        counts.unchanged++
        return undefined
      }
      if (there && !isOurs(path, there.hash)) {
        keepKnown(path)
        return 'not written: the one there was changed, or comes from elsewhere'
      }
      await announce(path, hash)
      nameFile(temporary, join(dir, path))
      folders.add(folder)
      kept.set(path, hash)
      counts.written++
      return undefined
    } finally {
      discard(temporary)
    }
  }

  async function writeTemporary({ read }: ExportedFile): Promise<string> {
    const hash = createHash('sha256')
    const file = await open(temporary, 'w', 0o644)
    try {
      for await (const part of read()) {
        hash.update(part)
        await file.writeFile(part)
      }
      await file.sync()
    } finally {
      await file.close()
    }
    return hash.digest('hex')
  }

  async function remove(path: string): Promise<void> {
    if (exported.has(folded(path)) || (await enter(posix.dirname(path), false)) !== undefined) return
    const there = await hashOf(join(dir, path))
    if (there === undefined) return
    if (!('hash' in there) || !isOurs(path, there.hash)) {
      problems.push({ path, reason: 'kept: it is exported no more, but was changed since' })
      return
    }
    await unlink(join(dir, path))
    counts.removed++
    for (let folder = posix.dirname(path); folder !== '.'; folder = posix.dirname(folder))
      if (!(await removeEmpty(join(dir, folder)))) break
      else folders.delete(folder)
  }

  /** Makes a folder below `dir`, or says what is in the way. */
  async function enter(folder: string, isMade: boolean): Promise<string | undefined> {
    if (folder === '.' || entered.has(folder)) return undefined
    const obstacle = await enter(posix.dirname(folder), isMade)
    if (obstacle !== undefined) return obstacle
    const found = await lstat(join(dir, folder)).catch((error: unknown) => {
      if (isAbsent(error)) return undefined
      throw error
    })
    if (found && !found.isDirectory()) return `${folder} is no folder`
    if (!found && !isMade) return `${folder} is gone`
    if (!found) await makeFolder(join(dir, folder))
    entered.add(folder)
    return undefined
  }

  function isOurs(path: string, hash: string): boolean {
    return before?.hashes.get(folded(path))?.has(hash) === true
  }

  function keepKnown(path: string): void {
    const [hash] = before?.hashes.get(folded(path)) ?? []
    if (hash !== undefined) kept.set(path, hash)
  }
}

/** The SHA-256 of a regular file; of anything else, what it is; undefined for nothing. */
async function hashOf(path: string): Promise<{ readonly hash: string } | { readonly kind: string } | undefined> {
  const file = await openRegular(path)
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

/** False where something is in the folder. */
async function removeEmpty(path: string): Promise<boolean> {
  try {
    await rmdir(path)
    return true
  } catch (error) {
    if (codeOf(error) === 'ENOTEMPTY' || codeOf(error) === 'EEXIST') return false
    throw error
  }
}
