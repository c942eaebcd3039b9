/**
 * Reads files that other programs made. Reads only regular files, because a pipe or a device may block its reader.
 * Reads at most a given number of bytes.
 */
import { constants, type Dirent } from 'node:fs'
import { type FileHandle, lstat, open } from 'node:fs/promises'
import { codeOf } from './errors.ts'
import { FolderReplacedError, openBelow, replacedMeanwhile } from './held-folders.ts'

/** Bytes of each read after the first. The first asks for the reported size and one more. */
const chunkBytes = 1_048_576
const mebibyte = 1_048_576

/**
 * Opens the file at `path` for reading. Returns undefined if nothing exists there. If the file cannot be used,
 * returns the end of a sentence, such as `is a symbolic link` or `was moved …`.
 *
 * @param root a real path above `path`; no folder between the two may be a symbolic link, even for a moment
 * @throws system errors
 */
export async function openRegular(path: string, root?: string): Promise<FileHandle | string | undefined> {
  try {
    const found = await lstat(path)
    if (found.isDirectory()) return 'is a folder'
    // Opening a device may have an effect, and a pipe blocks its reader.
    if (!found.isFile()) return `is ${kindOf(found)}`
    // The file may have been replaced since `lstat`.
    const openIt = () => open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const file = root === undefined ? await openIt() : await openBelow(root, path, openIt)
    if ((await file.stat()).isFile()) return file
    await file.close()
    return 'is not a regular file'
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    if (error instanceof FolderReplacedError) return replacedMeanwhile
    if (codeOf(error) === 'ELOOP') return 'is a symbolic link'
    throw error
  }
}

/**
 * Reads a regular file as openRegular opens it. Returns the end of a sentence if the file has more than `limitBytes`.
 * The reported size is not trusted: files of /proc report 0, and a file may grow.
 */
export async function readRegular(
  path: string,
  limitBytes: number,
  root?: string,
): Promise<Buffer | string | undefined> {
  const file = await openRegular(path, root)
  if (file === undefined || typeof file === 'string') return file
  try {
    const { size } = await file.stat()
    if (size > limitBytes) return `is larger than ${limitBytes / mebibyte} MiB (${(size / mebibyte).toFixed(1)} MiB)`
    const chunks: Buffer[] = []
    let total = 0
    for (;;) {
      const room = Math.min(total === 0 ? size + 1 : chunkBytes, limitBytes + 1 - total)
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(room), 0, room)
      if (bytesRead === 0) return Buffer.concat(chunks)
      chunks.push(buffer.subarray(0, bytesRead))
      total += bytesRead
      if (total > limitBytes) return `is larger than ${limitBytes / mebibyte} MiB`
    }
  } finally {
    await file.close()
  }
}

/** Names the kind of an entry that is neither a file nor a folder. */
export function kindOf(entry: Pick<Dirent, 'isSymbolicLink' | 'isFIFO' | 'isSocket'>): string {
  if (entry.isSymbolicLink()) return 'a symbolic link'
  if (entry.isFIFO()) return 'a named pipe'
  return entry.isSocket() ? 'a socket' : 'a device'
}
