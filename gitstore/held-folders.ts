/**
 * Guards against folders that other programs change. A folder above a file may become a symbolic link between listing
 * and reading. `O_NOFOLLOW` guards only the last name of a path, and Node has no `openat`.
 */
import { constants, readlinkSync } from 'node:fs'
import { type FileHandle, lstat, open } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { codeOf, GitError } from './errors.ts'
import { exists } from './fs-exists.ts'

/** Lists the open files of this process, if the system has it. Source: proc_pid_fd(5). */
const openFiles = '/proc/self/fd'

/** The end of a sentence that says why a file or folder is not used. */
export const replacedMeanwhile = 'was moved in the meantime, or a folder above it became a link'

/** A path does not lead where its names say. */
export class FolderReplacedError extends GitError {
  constructor(path: string) {
    super('busy', `${path} ${replacedMeanwhile}`)
    this.name = 'FolderReplacedError'
  }
}

/**
 * Runs `work` on a folder below `root`. The path that `work` gets leads to that folder, even if something else takes
 * its name. Without /proc it is the folder's own path, and the folder is compared before and after.
 *
 * @param root a real path
 * @param folder relative to `root`; '' for `root`
 * @throws FolderReplacedError, system errors, any error of `work`
 */
export async function withHeldFolder<T>(root: string, folder: string, work: (held: string) => Promise<T>): Promise<T> {
  const path = join(root, folder).replace(/(?<=.)\/$/, '')
  if (!exists(openFiles)) {
    const before = await identities(root, path)
    const result = await work(path)
    if ((await identities(root, path)) !== before) throw new FolderReplacedError(path)
    return result
  }
  const file = await openFolder(path)
  try {
    const held = join(openFiles, String(file.fd))
    if (readlinkSync(held) !== path) throw new FolderReplacedError(path)
    return await work(held)
  } finally {
    await file.close()
  }
}

/**
 * Opens `path`, and checks that the file is in that folder below `root`. `openIt` must not follow a link at the last
 * name.
 *
 * @param root a real path
 * @throws FolderReplacedError, system errors
 */
export async function openBelow(root: string, path: string, openIt: () => Promise<FileHandle>): Promise<FileHandle> {
  const hasPlaces = exists(openFiles)
  const before = hasPlaces ? '' : await identities(root, dirname(path))
  const file = await openIt()
  try {
    // A file that was renamed or removed since has another name, but still the same folder.
    const isBelow = hasPlaces
      ? dirname(readlinkSync(join(openFiles, String(file.fd)))) === dirname(path)
      : (await isNamed(file, path)) && (await identities(root, dirname(path))) === before
    if (!isBelow) throw new FolderReplacedError(path)
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}

/** @throws FolderReplacedError if the last name is a link or not a folder; system errors */
async function openFolder(path: string): Promise<FileHandle> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  } catch (error) {
    throw codeOf(error) === 'ENOTDIR' || codeOf(error) === 'ELOOP' ? new FolderReplacedError(path) : error
  }
}

/** True if `path` still names the open file. */
async function isNamed(file: FileHandle, path: string): Promise<boolean> {
  const [opened, named] = await Promise.all([file.stat({ bigint: true }), lstat(path, { bigint: true })])
  return opened.dev === named.dev && opened.ino === named.ino
}

/**
 * The device and inode of `root` and of each folder down to `folder`.
 *
 * @throws FolderReplacedError if one is a link or not a folder
 */
async function identities(root: string, folder: string): Promise<string> {
  const found: string[] = []
  let at = root
  for (const step of ['', ...relative(root, folder).split(sep)]) {
    at = join(at, step)
    const stats = await lstat(at, { bigint: true })
    if (!stats.isDirectory()) throw new FolderReplacedError(folder)
    found.push(`${stats.dev}:${stats.ino}`)
  }
  return found.join(' ')
}
