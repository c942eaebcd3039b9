/**
 * Writes exported files into a folder; into the same one again, what has changed. Follows no symbolic links, and holds each
 * folder while it changes something in it.
 */
import { createHash } from 'node:crypto'
import { lstat, open, rmdir, unlink } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { discard, makeFolder, nameFile, syncDirectory } from '../../../gitstore/durable.ts'
import { asStorageFault, codeOf, GitError, isStorageFault } from '../../../gitstore/errors.ts'
import { inFolder, ReplacedFolder, replacedMeanwhile } from '../../../gitstore/held-folders.ts'
import { ifThere } from '../../../gitstore/presence.ts'
import type { PathProblem } from '../../domain/format/path-problem.ts'
import { folded } from '../format/note-names.ts'
import {
  hashOf,
  type Manifest,
  type ManifestFile,
  openManifest,
  ownFolder,
  writeManifest,
} from '../read/export-manifest.ts'
import type { ExportedFile } from './exports.ts'
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
    return await inFolder(dir, ownFolder, (own) => writeFiles(dir, own, ...others))
  } catch (error) {
    throw faultOf(asStorageFault(error), args[0])
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
  if (!(error instanceof GitError) || !isStorageFault(error)) return error
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
  const problems: PathProblem[] = []
  const counts = { written: 0, unchanged: 0, removed: 0 }
  /** What the folder has of an export, by path. */
  const kept = new Map<string, ManifestFile>()
  const exported = new Set<string>()
  /** Folders that are there and no links; those in which names are new. */
  const entered = new Set<string>()
  const folders = new Set<string>()
  const noteAt = new Map([...(before?.notes ?? [])].map(([id, path]) => [path, id]))
  let unreadable = false
  const moved = before ? await movedFiles(dir, before) : new Map<string, string>()
  const announce = await openManifest(own, orgId)
  const temporary = join(own, `tmp-${process.pid}`)

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
  } else for (const path of before?.paths ?? []) await orProblem(path, () => remove(path))
  for (const folder of folders) await orProblem(folder, () => inFolder(dir, folder, syncDirectory))
  await writeManifest(own, orgId, kept)
  return { ...counts, problems }

  /** Names what another program has moved or replaced meanwhile. */
  async function orProblem(path: string, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!(error instanceof ReplacedFolder)) throw error
      problems.push({ path, reason: replacedMeanwhile })
    }
  }

  /** Why the file could not be written. */
  async function write(file: ExportedFile): Promise<string | undefined> {
    const { path } = file
    const folder = posix.dirname(path)
    const obstacle = await enter(folder, true)
    if (obstacle !== undefined) return obstacle
    const there = await hashOf(join(dir, path), dir)
    if (there !== undefined && !('hash' in there)) return `the one there ${there.kind}`
    const now = there === undefined ? moved.get(path) : undefined
    if (now !== undefined) {
      keepKnown(path)
      return `not written again: it lies at ${now} now; import the folder, or move it back`
    }
    const hash = await writeTemporary(file)
    const written = { hash, nodeId: file.nodeId }
    try {
      if (there?.hash === hash) {
        kept.set(path, written)
        counts.unchanged++
        return undefined
      }
      if (there && !isOurs(path, there.hash) && !isNote(file, there.hash)) {
        keepKnown(path)
        return 'not written: the one there was changed, or comes from elsewhere'
      }
      await announce(path, written)
      await inFolder(dir, folder, async (held) => nameFile(temporary, join(held, posix.basename(path))))
      folders.add(folder)
      kept.set(path, written)
      counts.written++
      return undefined
    } finally {
      discard(temporary)
    }
  }

  /** Removes it again where it cannot be written whole. */
  async function writeTemporary({ read }: ExportedFile): Promise<string> {
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

  async function remove(path: string): Promise<void> {
    if (exported.has(folded(path)) || (await enter(posix.dirname(path), false)) !== undefined) return
    const there = await hashOf(join(dir, path), dir)
    if (there === undefined) return
    if (!('hash' in there) || !isOurs(path, there.hash)) {
      problems.push({ path, reason: 'kept: it is exported no more, but was changed since' })
      return
    }
    await inFolder(dir, posix.dirname(path), (held) => unlink(join(held, posix.basename(path))))
    counts.removed++
    for (let folder = posix.dirname(path); folder !== '.'; folder = posix.dirname(folder))
      if (!(await removeEmpty(dir, folder))) break
      else folders.delete(folder)
  }

  /** Makes a folder below `dir`, or says what is in the way. */
  async function enter(folder: string, isMade: boolean): Promise<string | undefined> {
    if (folder === '.' || entered.has(folder)) return undefined
    const obstacle = await enter(posix.dirname(folder), isMade)
    if (obstacle !== undefined) return obstacle
    const found = await ifThere(lstat(join(dir, folder)))
    if (found && !found.isDirectory()) return `${folder} is no folder`
    if (!found && !isMade) return `${folder} is gone`
    if (!found) await inFolder(dir, posix.dirname(folder), (held) => makeFolder(join(held, posix.basename(folder))))
    entered.add(folder)
    return undefined
  }

  function isOurs(path: string, hash: string): boolean {
    return before?.hashes.get(folded(path))?.has(hash) === true
  }

  /** Whether an export wrote these bytes for the same node, which lay elsewhere then. */
  function isNote({ nodeId }: ExportedFile, hash: string): boolean {
    const path = nodeId === undefined ? undefined : before?.notes.get(nodeId)
    return path !== undefined && isOurs(path, hash)
  }

  function keepKnown(path: string): void {
    const [hash] = before?.hashes.get(folded(path)) ?? []
    if (hash !== undefined) kept.set(path, { hash, nodeId: noteAt.get(path) })
  }
}

/** False where something is in the folder. */
async function removeEmpty(dir: string, folder: string): Promise<boolean> {
  try {
    await inFolder(dir, posix.dirname(folder), (held) => rmdir(join(held, posix.basename(folder))))
    return true
  } catch (error) {
    if (codeOf(error) === 'ENOTEMPTY' || codeOf(error) === 'EEXIST') return false
    throw error
  }
}
