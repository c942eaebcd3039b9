/** Unpacks a checked archive into a folder. */

import { createWriteStream } from 'node:fs'
import { mkdir, open, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { crc32 } from 'node:zlib'
import type { Entry } from 'yauzl'
import { asStorageError, codeOf } from '../../../../gitstore/errors.ts'
import { head } from '../../../../gitstore/repo-folders.ts'
import { type ArchivedFile, ArchiveError, isTooLarge, type OpenArchive } from './archive.ts'

interface Unpacking {
  readonly signal: AbortSignal
  readonly onProgress: (done: number, total: number) => void
}

/**
 * Writes the files below `dir`.
 *
 * A file that is too large gets its size but no content, so that the import reports it. The folder becomes a work tree
 * of Git, so that its `.gitignore` counts, and that of a folder above it does not.
 *
 * @throws ArchiveError if a file is not what the directory states
 * @throws GitError storage_*, the reason of the signal
 */
export async function unpack(archive: OpenArchive, dir: string, { signal, onProgress }: Unpacking): Promise<void> {
  const { files } = archive
  const folders = new Set<string>()
  try {
    for (const name of ['objects', 'refs']) await mkdir(join(dir, '.git', name), { recursive: true })
    await writeFile(join(dir, '.git', 'HEAD'), head)
    for (const [at, file] of files.entries()) {
      signal.throwIfAborted()
      const path = join(dir, file.path)
      const folder = dirname(path)
      if (!folders.has(folder)) await mkdir(folder, { recursive: true })
      folders.add(folder)
      if (isTooLarge(file.entry)) await standIn(path, file.entry.uncompressedSize)
      else await writeOne(archive, file, path, signal)
      onProgress(at + 1, files.length)
    }
  } catch (error) {
    signal.throwIfAborted()
    throw asStorageError(error)
  }
}

/** Makes a file of that size without content, which takes no room. */
async function standIn(path: string, bytes: number): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.truncate(bytes)
  } finally {
    await file.close()
  }
}

async function writeOne({ zip }: OpenArchive, file: ArchivedFile, path: string, signal: AbortSignal): Promise<void> {
  const { entry } = file
  try {
    const content = await zip.openReadStreamPromise(entry)
    await pipeline(content, checked(entry), createWriteStream(path, { flags: 'wx', mode: 0o600 }), { signal })
  } catch (error) {
    signal.throwIfAborted()
    const isOfSystem = /^E[A-Z]+$/.test(String(codeOf(error) ?? ''))
    if (isOfSystem || !(error instanceof Error)) throw error
    throw new ArchiveError(`${JSON.stringify(file.path)} is damaged in the archive: ${error.message}`)
  }
}

/** Compares the bytes with the checksum of the directory. The reader compares the sizes. */
function checked(entry: Entry): Transform {
  let sum = 0
  return new Transform({
    transform(chunk: Buffer, _, done) {
      sum = crc32(chunk, sum)
      done(null, chunk)
    },
    flush(done) {
      done(sum === entry.crc32 ? null : new Error('its checksum is wrong'))
    },
  })
}
