/**
 * Writes exported files into a folder. Into the same folder again, it writes only changes.
 *
 * It follows no symbolic links, and holds each folder open while it changes something in it.
 */
import { createHash } from 'node:crypto'
import { lstat, open, rmdir, unlink } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { discard, makeFolder, nameFile, syncDirectory } from '../../../../gitstore/durable.ts'
import { asStorageError, codeOf, GitError, isStorageError } from '../../../../gitstore/errors.ts'
import { ignoreMissing } from '../../../../gitstore/fs-exists.ts'
import { FolderReplacedError, replacedMeanwhile, withHeldFolder } from '../../../../gitstore/held-folders.ts'
import type { PathProblem } from '../../../domain/format/path-problem.ts'
import { folded } from '../../../markdown/note-names.ts'
import {
  type Announce,
  hashOf,
  type Manifest,
  type ManifestFile,
  openManifest,
  ownFolder,
  writeManifest,
} from '../read/export-manifest.ts'
import type { ExportedFile } from './exported-files.ts'
import { movedFiles } from './moved-files.ts'

export interface WrittenFolder {
  readonly written: number
  readonly unchanged: number
  readonly removed: number
  /** Files that were kept because an export did not write them, and unreadable files. */
  readonly problems: readonly PathProblem[]
}

/**
 * Writes files into the folder. Replaces and removes only files whose bytes an export wrote.
 *
 * Each file appears complete. An interrupted export removes nothing, and the next one continues. A file that was moved
 * since the last export is not written a second time. It is reported, and an import of the folder records its new path.
 *
 * @param dir a real path
 * @param before the manifest of the last export into the folder
 * @param hasFaults returns true if nodes were skipped; nothing is then removed
 * @throws GitError storage_*, system errors, and the errors of the files' iterator
 */
export async function writeFolder(...args: Input): Promise<WrittenFolder> {
  try {
    const [dir, ...others] = args
    await makeFolder(join(dir, ownFolder))
    return await withHeldFolder(dir, ownFolder, (own) => writeFiles(dir, own, ...others))
  } catch (error) {
    throw faultOf(asStorageError(error), args[0])
  }
}

type Input = [
  dir: string,
  orgId: string,
  before: Manifest | undefined,
  files: AsyncIterable<ExportedFile>,
  hasFaults: () => boolean,
]

/** Adds advice to the error if the folder cannot be written to. */
function faultOf(error: unknown, dir: string): unknown {
  if (!(error instanceof GitError) || !isStorageError(error)) return error
  const next = 'All files that were written are complete. Run the same command to continue'
  return new GitError(error.code, `The export into ${dir} is incomplete: ${error.message}. ${next}`, error.facts, {
    cause: error,
  })
}

/** Writes all files and the manifest. @param own the folder `ownFolder`, held open */
async function writeFiles(
  dir: string,
  own: string,
  orgId: string,
  before: Manifest | undefined,
  files: AsyncIterable<ExportedFile>,
  hasFaults: () => boolean,
): Promise<WrittenFolder> {
  const moved = before ? await movedFiles(dir, before) : new Map<string, string>()
  const writer = new FolderWriter({ dir, before, moved, announce: await openManifest(own, orgId), own })
  let unreadable = false
  for await (const file of files) {
    try {
      await writer.write(file)
    } catch (error) {
      if (!(error instanceof GitError) || isStorageError(error)) throw error
      writer.problems.push({ path: file.path, reason: error.message })
      unreadable = true
    }
  }
  if (hasFaults() || unreadable) writer.keepOthers()
  else await writer.removeOthers()
  await writer.syncFolders()
  await writeManifest(own, orgId, writer.kept)
  return { ...writer.counts, problems: writer.problems }
}

interface Writing {
  /** The exported folder. */
  readonly dir: string
  /** The manifest of the last export into it. */
  readonly before: Manifest | undefined
  /** The current paths of moved files, by their paths in the last export. */
  readonly moved: ReadonlyMap<string, string>
  readonly announce: Announce
  /** The folder `ownFolder`, held open. */
  readonly own: string
}

/** Writes and removes files of one export, and counts them. */
class FolderWriter {
  readonly problems: PathProblem[] = []
  readonly counts = { written: 0, unchanged: 0, removed: 0 }
  /** The exported files in the folder, by path. */
  readonly kept = new Map<string, ManifestFile>()
  readonly #given: Writing
  readonly #temporary: string
  /** The folded paths of this export. */
  readonly #exported = new Set<string>()
  /** Folders that exist and are not links. */
  readonly #entered = new Set<string>()
  /** Folders with new names, which must be synced. */
  readonly #changed = new Set<string>()
  /** Ids of nodes, by the paths of their notes in the last export. */
  readonly #noteAt: ReadonlyMap<string, string>

  constructor(given: Writing) {
    this.#given = given
    this.#temporary = join(given.own, `tmp-${process.pid}`)
    this.#noteAt = new Map([...(given.before?.notes ?? [])].map(([id, path]) => [path, id]))
  }

  /** Writes the file, or records the obstacle as a problem. */
  async write(file: ExportedFile): Promise<void> {
    this.#exported.add(folded(file.path))
    const obstacle = await this.#writeUnless(file)
    if (obstacle !== undefined) this.problems.push({ path: file.path, reason: obstacle })
  }

  /** Keeps the records of the last export for files that this one did not reach. */
  keepOthers(): void {
    for (const path of this.#given.before?.paths ?? []) if (!this.kept.has(path)) this.#keepKnown(path)
  }

  /** Removes files that the last export wrote and this one did not. */
  async removeOthers(): Promise<void> {
    for (const path of this.#given.before?.paths ?? []) await this.#orProblem(path, () => this.#remove(path))
  }

  async syncFolders(): Promise<void> {
    for (const folder of this.#changed)
      await this.#orProblem(folder, () => withHeldFolder(this.#given.dir, folder, syncDirectory))
  }

  /** Records a problem if another program has moved or replaced the folder. */
  async #orProblem(path: string, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!(error instanceof FolderReplacedError)) throw error
      this.problems.push({ path, reason: replacedMeanwhile })
    }
  }

  /** Writes the file. Returns the reason if it cannot be written. */
  async #writeUnless(file: ExportedFile): Promise<string | undefined> {
    const { dir, moved, announce } = this.#given
    const { path } = file
    const folder = posix.dirname(path)
    const obstacle = await this.#enter(folder, true)
    if (obstacle !== undefined) return obstacle
    const there = await hashOf(join(dir, path), dir)
    if (there !== undefined && !('hash' in there)) return `the existing file ${there.kind}`
    const now = there === undefined ? moved.get(path) : undefined
    if (now !== undefined) {
      this.#keepKnown(path)
      return `not written again, because it was moved to ${now}; import the folder, or move it back`
    }
    const hash = await writeTemporary(this.#temporary, file)
    const written = { hash, nodeId: file.nodeId }
    try {
      if (there?.hash === hash) {
        this.kept.set(path, written)
        this.counts.unchanged++
        return undefined
      }
      if (there && !this.#isOurs(path, there.hash) && !this.#isNote(file, there.hash)) {
        this.#keepKnown(path)
        return 'not written: the existing file was changed, or was not written by an export'
      }
      await announce(path, written)
      await withHeldFolder(dir, folder, async (held) => nameFile(this.#temporary, join(held, posix.basename(path))))
      this.#changed.add(folder)
      this.kept.set(path, written)
      this.counts.written++
      return undefined
    } finally {
      discard(this.#temporary)
    }
  }

  async #remove(path: string): Promise<void> {
    const { dir } = this.#given
    if (this.#exported.has(folded(path)) || (await this.#enter(posix.dirname(path), false)) !== undefined) return
    const there = await hashOf(join(dir, path), dir)
    if (there === undefined) return
    if (!('hash' in there) || !this.#isOurs(path, there.hash)) {
      this.problems.push({ path, reason: 'kept: it is no longer exported, but was changed since the last export' })
      return
    }
    await withHeldFolder(dir, posix.dirname(path), (held) => unlink(join(held, posix.basename(path))))
    this.counts.removed++
    for (let folder = posix.dirname(path); folder !== '.'; folder = posix.dirname(folder))
      if (!(await removeEmpty(dir, folder))) break
      else this.#changed.delete(folder)
  }

  /** Checks or creates a folder below `dir`. Returns the obstacle, if any. */
  async #enter(folder: string, isMade: boolean): Promise<string | undefined> {
    const { dir } = this.#given
    if (folder === '.' || this.#entered.has(folder)) return undefined
    const obstacle = await this.#enter(posix.dirname(folder), isMade)
    if (obstacle !== undefined) return obstacle
    const found = await ignoreMissing(lstat(join(dir, folder)))
    if (found && !found.isDirectory()) return `${folder} is not a folder`
    if (!found && !isMade) return `${folder} is gone`
    if (!found)
      await withHeldFolder(dir, posix.dirname(folder), (held) => makeFolder(join(held, posix.basename(folder))))
    this.#entered.add(folder)
    return undefined
  }

  #isOurs(path: string, hash: string): boolean {
    return this.#given.before?.hashes.get(folded(path))?.has(hash) === true
  }

  /** True if an export wrote these bytes for the same node, at another path. */
  #isNote({ nodeId }: ExportedFile, hash: string): boolean {
    const path = nodeId === undefined ? undefined : this.#given.before?.notes.get(nodeId)
    return path !== undefined && this.#isOurs(path, hash)
  }

  #keepKnown(path: string): void {
    const [hash] = this.#given.before?.hashes.get(folded(path)) ?? []
    if (hash !== undefined) this.kept.set(path, { hash, nodeId: this.#noteAt.get(path) })
  }
}

/** Writes a temporary file, and removes it if that fails. @returns the SHA-256 */
async function writeTemporary(temporary: string, { read }: ExportedFile): Promise<string> {
  const hash = createHash('sha256')
  // A killed export or another program may have left a file here.
  discard(temporary)
  const file = await open(temporary, 'wx', 0o644)
  try {
    for await (const part of read()) {
      hash.update(part)
      await file.writeFile(part)
    }
    await file.sync()
  } catch (error) {
    discard(temporary)
    throw error
  } finally {
    await file.close()
  }
  return hash.digest('hex')
}

/** Removes an empty folder. Returns false if it is not empty. */
async function removeEmpty(dir: string, folder: string): Promise<boolean> {
  try {
    await withHeldFolder(dir, posix.dirname(folder), (held) => rmdir(join(held, posix.basename(folder))))
    return true
  } catch (error) {
    if (codeOf(error) === 'ENOTEMPTY' || codeOf(error) === 'EEXIST') return false
    throw error
  }
}
