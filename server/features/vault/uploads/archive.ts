/** Reads the directory of an uploaded ZIP, and refuses what must not be unpacked. */

import { isUtf8 } from 'node:buffer'
import { type Entry, getFileNameLowLevel, openPromise, type ZipFile } from 'yauzl'
import { codeOf } from '../../../../gitstore/errors.ts'
import * as limits from '../../../base/limits.ts'
import { isHiddenPath } from '../../../markdown/hidden-paths.ts'

/** The error for an archive that is refused. The message is a sentence for its sender. */
export class ArchiveError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ArchiveError'
  }
}

/** A file to unpack. */
export interface ArchivedFile {
  readonly entry: Entry
  /** Relative to the archive's folder. */
  readonly path: string
}

export interface OpenArchive {
  readonly zip: ZipFile
  /** In the order of the archive. */
  readonly files: readonly ArchivedFile[]
  /** The folder that holds everything, if there is one. */
  readonly folder: string | undefined
}

/**
 * Opens the archive and checks its directory. The caller closes `zip`.
 *
 * The sizes are those that the directory states. Unpacking compares them with the bytes.
 *
 * @throws ArchiveError; system errors
 */
export async function openArchive(path: string): Promise<OpenArchive> {
  const zip = await openPromise(path, { autoClose: false, decodeStrings: false }).catch(unreadable)
  try {
    const named = await entriesOf(zip)
    const folder = commonFolder(named)
    const start = folder === undefined ? 0 : folder.length + 1
    const files = named
      .map(({ entry, path }) => ({ entry, path: path.slice(start) }))
      .filter(({ path }) => path !== '' && !path.endsWith('/') && !isHiddenPath(path))
    checkFiles(files)
    return { zip, files, folder }
  } catch (error) {
    zip.close()
    throw error
  }
}

/** Reads all entries. A folder's path ends with a slash. */
async function entriesOf(zip: ZipFile): Promise<ArchivedFile[]> {
  if (zip.entryCount > limits.archiveEntries)
    throw new ArchiveError(`The archive has ${zip.entryCount} entries; at most ${limits.archiveEntries} are read`)
  const entries: ArchivedFile[] = []
  const reading = zip.eachEntry()
  for (;;) {
    const { done, value: entry } = await reading.next().catch(unreadable)
    if (done) return entries
    const path = nameOf(entry).replace(/^(\.\/)+/, '')
    if (path === '') continue
    checkPath(path)
    entries.push({ entry, path })
  }
}

function unreadable(error: unknown): never {
  // Errors of the file system have a code, those of the reader do not.
  if (!(error instanceof Error) || codeOf(error) !== undefined) throw error
  const reason = /end of central directory/i.test(error.message)
    ? 'It is not a ZIP file, or it is incomplete'
    : `The ZIP file cannot be read: ${error.message}`
  throw new ArchiveError(reason)
}

/** The flag for names in UTF-8, and the extra field that holds such a name. Source: APPNOTE.TXT, 4.4.4 and 4.6.9. */
const utf8Flag = 0x800
const unicodePath = 0x7075

/** Decodes a name. A name without the flag counts as UTF-8 if it is valid, because macOS writes such names. */
function nameOf({ fileNameRaw, generalPurposeBitFlag: flags, extraFields }: Entry): string {
  const isFlagged = (flags & utf8Flag) !== 0
  if (isFlagged && !isUtf8(fileNameRaw)) throw new ArchiveError('A name in the archive is not UTF-8; rename the file')
  const hasOther = extraFields.some(({ id }) => id === unicodePath)
  const read = isFlagged || hasOther || !isUtf8(fileNameRaw) ? flags : flags | utf8Flag
  return getFileNameLowLevel(read, fileNameRaw, extraFields, false)
}

/** @throws ArchiveError */
function checkPath(path: string): void {
  const shown = JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path)
  const names = path.replace(/\/$/, '').split('/')
  const isLong = (text: string, bytes: number) => Buffer.byteLength(text) > bytes
  if (/^(\/|[a-z]:\/)/i.test(path)) throw new ArchiveError(`The path ${shown} is absolute; paths must be relative`)
  if (names.includes('..')) throw new ArchiveError(`The path ${shown} leads out of the archive`)
  if (names.some((name) => name === '' || name === '.'))
    throw new ArchiveError(`The path ${shown} has an empty name in it`)
  if (/\p{Cc}/u.test(path)) throw new ArchiveError(`The path ${shown} has control characters; rename the file`)
  if (names.length > limits.archiveFolders)
    throw new ArchiveError(`The path ${shown} has more than ${limits.archiveFolders} folders`)
  if (isLong(path, limits.archivePathBytes))
    throw new ArchiveError(`The path ${shown} is longer than ${limits.archivePathBytes} bytes`)
  if (names.some((name) => isLong(name, limits.archiveNameBytes)))
    throw new ArchiveError(`The path ${shown} has a name that is longer than ${limits.archiveNameBytes} bytes`)
}

/** Finds the folder that holds all entries. The folder that macOS adds does not count. */
function commonFolder(entries: readonly ArchivedFile[]): string | undefined {
  const own = entries.filter(({ path }) => !path.startsWith('__MACOSX/'))
  const first = own[0]?.path.split('/', 1)[0]
  return first !== undefined && own.every(({ path }) => path.startsWith(`${first}/`)) ? first : undefined
}

/** Bits of a Unix mode: the kind of file, and its values. Source: inode(7). */
const kindBits = 0o170000
const [regular, folderKind, symbolicLink] = [0o100000, 0o040000, 0o120000]
/** Stored and Deflate. */
const methods: readonly number[] = [0, 8]

/** @throws ArchiveError */
function checkFiles(files: readonly ArchivedFile[]): void {
  if (files.length === 0) throw new ArchiveError('The archive has no files to import; hidden files are skipped')
  if (files.length > limits.archiveFiles)
    throw new ArchiveError(
      `The archive has ${files.length} files to import; at most ${limits.archiveFiles} are imported`,
    )
  let total = 0
  for (const { entry, path } of files) {
    checkEntry(entry, JSON.stringify(path))
    if (!isTooLarge(entry)) total += entry.uncompressedSize
    if (total > limits.unpackedBytes)
      throw new ArchiveError(
        `The files of the archive have more than ${limits.unpackedBytes / 1_048_576} MiB; import it in parts`,
      )
  }
  checkNames(files)
}

/** True for a file that an import skips because of its size. */
export function isTooLarge({ uncompressedSize }: Entry): boolean {
  return uncompressedSize > limits.archiveFileBytes
}

function checkEntry(entry: Entry, shown: string): void {
  const kind = (entry.externalFileAttributes >>> 16) & kindBits
  if (kind === symbolicLink) throw new ArchiveError(`${shown} is a symbolic link; replace it with the file`)
  if (kind !== 0 && kind !== regular && kind !== folderKind) throw new ArchiveError(`${shown} is not a regular file`)
  if (entry.isEncrypted()) throw new ArchiveError(`${shown} is encrypted; create the archive without a password`)
  if (!methods.includes(entry.compressionMethod))
    throw new ArchiveError(
      `${shown} is compressed with method ${entry.compressionMethod}; create the archive with Deflate, as ZIP programs do by default`,
    )
}

/** Refuses paths that some file system cannot have together. @throws ArchiveError */
function checkNames(files: readonly ArchivedFile[]): void {
  const spelled = new Map<string, string>()
  const isFile = new Set<string>()
  for (const { path } of files) {
    const names = path.split('/')
    const folders = names.slice(0, -1).map((_, at) => names.slice(0, at + 1).join('/'))
    for (const folder of folders) {
      collide(folder)
      if (isFile.has(fold(folder))) throw new ArchiveError(`${JSON.stringify(folder)} is both a file and a folder`)
    }
    if (isFile.has(fold(path)) && spelled.get(fold(path)) === path)
      throw new ArchiveError(`${JSON.stringify(path)} is in the archive twice`)
    collide(path)
    if (spelled.has(`${fold(path)}/`)) throw new ArchiveError(`${JSON.stringify(path)} is both a file and a folder`)
    isFile.add(fold(path))
    for (const folder of folders) spelled.set(`${fold(folder)}/`, folder)
  }

  function collide(path: string): void {
    const known = spelled.get(fold(path))
    if (known !== undefined && known !== path)
      throw new ArchiveError(
        `${JSON.stringify(known)} and ${JSON.stringify(path)} differ only in case, or in how letters are encoded; rename one`,
      )
    spelled.set(fold(path), path)
  }
}

/** Returns the form in which file systems of macOS and Windows compare names. */
function fold(path: string): string {
  return path.normalize('NFC').toLowerCase()
}
