/** Sends files as a tar, which is created while it is read. */

import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Request, Response } from 'express'
import { type Pack, pack } from 'tar-stream'
import type { ExportedFile } from '../../vault/write/exported-files.ts'
import { networkOf } from '../connection/addresses.ts'
import { readingSignal } from '../connection/slow-client.ts'
import { stateOf } from '../request-state.ts'
import type { Archive } from './responses.ts'

/** The latest time, in 2038, that every reader of a tar accepts. Seconds since 1970. */
const latestTime = 2 ** 31 - 1

/**
 * Sends an archive. A fault after the first byte ends the connection in the middle of the tar.
 *
 * @throws the errors of `content.send`, before the first byte
 */
export async function sendArchive(req: Request, res: Response, { content }: Archive): Promise<void> {
  const headers = {
    'Content-Type': 'application/x-tar',
    'Content-Disposition': `attachment; filename="${content.name.replace(/[^\w-]/g, '_')}.tar"; filename*=UTF-8''${encodeURIComponent(content.name)}.tar`,
  }
  // Compressing it here would take a core for minutes.
  stateOf(req).isPacked = true
  if (req.method === 'HEAD') {
    for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
    res.status(200).end()
    return
  }
  const gone = readingSignal(req, res)
  // A fault while the client is still there. It ends the response, which then looks as if the client had left.
  let broken: { readonly by: unknown } | undefined
  const noteFault = (by: unknown) => {
    if (!gone.aborted) broken ??= { by }
  }
  const write = async (files: AsyncGenerator<ExportedFile>) => {
    try {
      const first = await files.next()
      for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
      res.status(200)
      await writeTar(first, files, res, { signal: gone, noteFault })
    } finally {
      await files.return(undefined)
    }
  }
  try {
    await content.send(write, { signal: gone, from: networkOf(req) })
  } catch (error) {
    if (broken !== undefined) throw broken.by
    throw gone.aborted ? gone.reason : error
  }
}

interface TarOptions {
  readonly signal: AbortSignal
  /** Called with the fault that ends the tar, before anything is ended because of it. */
  readonly noteFault: (fault: unknown) => void
}

/** Writes a tar. The same files give the same bytes, because owner, group and mode are constant. */
async function writeTar(
  first: IteratorResult<ExportedFile, void>,
  files: AsyncGenerator<ExportedFile>,
  sink: Writable,
  { signal, noteFault }: TarOptions,
): Promise<void> {
  const tar = pack()
  const fill = async () => {
    try {
      for (let next = first; !next.done; next = await files.next()) await addFile(tar, next.value)
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

async function addFile(tar: Pack, { path, size, time, read }: ExportedFile): Promise<void> {
  const mtime = new Date(Math.min(Math.max(time, 0), latestTime) * 1_000)
  await pipeline(Readable.from(read()), tar.entry({ name: path, size, mode: 0o644, mtime, uid: 0, gid: 0 }))
}
