/**
 * Writes exported files into a folder; into the same one again, what has changed. Follows no symbolic links, and holds each
 * folder while it changes something in it.
 */
import { createHash } from 'node:crypto'
import { lstat, open, rmdir, unlink } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { discard, makeFolder, nameFile, syncDirectory } from '../../../gitstore/durable.ts'
import { asStorageError, codeOf, GitError, isStorageError } from '../../../gitstore/errors.ts'
import { ignoreMissing } from '../../../gitstore/fs-exists.ts'
import { FolderReplacedError, replacedMeanwhile, withHeldFolder } from '../../../gitstore/held-folders.ts'
import type { PathProblem } from '../../domain/format/path-problem.ts'
import { folded } from '../../markdown/note-names.ts'
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
  /** Files that are kept as they are, since something else than an export wrote them, or that could not be read. */
  readonly problems: readonly PathProblem[]
}

/**
 * Replaces and removes only files whose bytes an export wrote. Each file appears whole. An export that does not end removes
 * nothing, and the next one goes on. A file that was moved since the last export is not written a second time: it is named, and
 * an import of the folder tells the node where it lies now.
 *
 * @param dir a real path
 * @param before of the last export into the folder
 * @param hasFaults whether nodes were left out so far: nothing is then removed
 * @throws GitError storage_*; system errors; what the files' iterator throws
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

/** Says also what is to be done where the folder cannot be written to. */
function faultOf(error: unknown, dir: string): unknown {
  if (!(error instanceof GitError) || !isStorageError(error)) return error
  const next = 'what is written is whole; the same command goes on from there'
  return new GitError(error.code, `${dir} is not exported whole: ${error.message}; ${next}`, error.facts, {
    cause: error,
  })
}

/** @param own the folder `ownFolder`, held */
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
  /** The last export into it. */
  readonly before: Manifest | undefined
  /** Where files of the last export lie now, by the paths at which it wrote them. */
  readonly moved: ReadonlyMap<string, string>
  readonly announce: Announce
  /** The folder `ownFolder`, held. */
  readonly own: string
}

/** Writes and removes files of one export, and counts them. */
class FolderWriter {
  readonly problems: PathProblem[] = []
  readonly counts = { written: 0, unchanged: 0, removed: 0 }
  /** What the folder has of an export, by path. */
  readonly kept = new Map<string, ManifestFile>()
  readonly #given: Writing
  readonly #temporary: string
  /** Folded paths. */
  readonly #exported = new Set<string>()
  /** Folders that are there and no links; those in which names are new. */
  readonly #entered = new Set<string>()
  readonly #changed = new Set<string>()
  /** The ids of nodes by the paths of their notes in the last export. */
  readonly #noteAt: ReadonlyMap<string, string>

  constructor(given: Writing) {
    this.#given = given
    this.#temporary = join(given.own, `tmp-${process.pid}`)
    this.#noteAt = new Map([...(given.before?.notes ?? [])].map(([id, path]) => [path, id]))
  }

  /** Writes the file, or names what is in its way. */
  async write(file: ExportedFile): Promise<void> {
    this.#exported.add(folded(file.path))
    const obstacle = await this.#writeUnless(file)
    if (obstacle !== undefined) this.problems.push({ path: file.path, reason: obstacle })
  }

  /** Keeps the record of what the last export wrote and this one did not reach. */
  keepOthers(): void {
    for (const path of this.#given.before?.paths ?? []) if (!this.kept.has(path)) this.#keepKnown(path)
  }

  /** Removes what the last export wrote and this one has not. */
  async removeOthers(): Promise<void> {
    for (const path of this.#given.before?.paths ?? []) await this.#orProblem(path, () => this.#remove(path))
  }

  async syncFolders(): Promise<void> {
    for (const folder of this.#changed)
      await this.#orProblem(folder, () => withHeldFolder(this.#given.dir, folder, syncDirectory))
  }

  /** Names what another program has moved or replaced meanwhile. */
  async #orProblem(path: string, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!(error instanceof FolderReplacedError)) throw error
      this.problems.push({ path, reason: replacedMeanwhile })
    }
  }

  /** Why the file could not be written. */
  async #writeUnless(file: ExportedFile): Promise<string | undefined> {
    const { dir, moved, announce } = this.#given
    const { path } = file
    const folder = posix.dirname(path)
    const obstacle = await this.#enter(folder, true)
    if (obstacle !== undefined) return obstacle
    const there = await hashOf(join(dir, path), dir)
    if (there !== undefined && !('hash' in there)) return `the one there ${there.kind}`
    const now = there === undefined ? moved.get(path) : undefined
    if (now !== undefined) {
      this.#keepKnown(path)
      return `not written again: it lies at ${now} now; import the folder, or move it back`
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
        return 'not written: the one there was changed, or comes from elsewhere'
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
      this.problems.push({ path, reason: 'kept: it is exported no more, but was changed since' })
      return
    }
    await withHeldFolder(dir, posix.dirname(path), (held) => unlink(join(held, posix.basename(path))))
    this.counts.removed++
    for (let folder = posix.dirname(path); folder !== '.'; folder = posix.dirname(folder))
      if (!(await removeEmpty(dir, folder))) break
      else this.#changed.delete(folder)
  }

  /** Makes a folder below `dir`, or says what is in the way. */
  async #enter(folder: string, isMade: boolean): Promise<string | undefined> {
    const { dir } = this.#given
    if (folder === '.' || this.#entered.has(folder)) return undefined
    const obstacle = await this.#enter(posix.dirname(folder), isMade)
    if (obstacle !== undefined) return obstacle
    const found = await ignoreMissing(lstat(join(dir, folder)))
    if (found && !found.isDirectory()) return `${folder} is no folder`
    if (!found && !isMade) return `${folder} is gone`
    if (!found)
      await withHeldFolder(dir, posix.dirname(folder), (held) => makeFolder(join(held, posix.basename(folder))))
    this.#entered.add(folder)
    return undefined
  }

  #isOurs(path: string, hash: string): boolean {
    return this.#given.before?.hashes.get(folded(path))?.has(hash) === true
  }

  /** Whether an export wrote these bytes for the same node, which lay elsewhere then. */
  #isNote({ nodeId }: ExportedFile, hash: string): boolean {
    const path = nodeId === undefined ? undefined : this.#given.before?.notes.get(nodeId)
    return path !== undefined && this.#isOurs(path, hash)
  }

  #keepKnown(path: string): void {
    const [hash] = this.#given.before?.hashes.get(folded(path)) ?? []
    if (hash !== undefined) this.kept.set(path, { hash, nodeId: this.#noteAt.get(path) })
  }
}

/** Removes it again where it cannot be written whole. @returns the SHA-256 */
async function writeTemporary(temporary: string, { read }: ExportedFile): Promise<string> {
  const hash = createHash('sha256')
  // Left by an export that was killed, or put there by another program.
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

/** False where something is in the folder. */
async function removeEmpty(dir: string, folder: string): Promise<boolean> {
  try {
    await withHeldFolder(dir, posix.dirname(folder), (held) => rmdir(join(held, posix.basename(folder))))
    return true
  } catch (error) {
    if (codeOf(error) === 'ENOTEMPTY' || codeOf(error) === 'EEXIST') return false
    throw error
  }
}
