/** Writes files as a tar, which is created while it is read. */

import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Pack, pack } from 'tar-stream'
import type { ArchiveFile } from '../../domain/archive.ts'

/** The latest time, in 2038, that every reader of a tar accepts. Seconds since 1970. */
const latestTime = 2 ** 31 - 1

interface TarOptions {
  readonly signal: AbortSignal
  /** Called with the fault that ends the tar, before anything is ended because of it. */
  readonly noteFault: (fault: unknown) => void
}

/** Writes a tar. The same files give the same bytes, because owner, group and mode are constant. */
export async function writeTar(
  files: AsyncIterable<ArchiveFile>,
  sink: Writable,
  { signal, noteFault }: TarOptions,
): Promise<void> {
  const tar = pack()
  const fill = async () => {
    try {
      for await (const file of files) await addFile(tar, file)
      tar.finalize()
    } catch (error) {
      noteFault(error)
      tar.destroy(error instanceof Error ? error : new Error(String(error)))
      throw error
    }
  }
  const [filled, sent] = await Promise.allSettled([fill(), pipeline(tar, sink, { signal })])
  if (filled.status === 'rejected') throw filled.reason
  if (sent.status === 'rejected') throw sent.reason
}

async function addFile(tar: Pack, { path, size, time, read }: ArchiveFile): Promise<void> {
  const mtime = new Date(Math.min(Math.max(time, 0), latestTime) * 1_000)
  await pipeline(Readable.from(read()), tar.entry({ name: path, size, mode: 0o644, mtime, uid: 0, gid: 0 }))
}
