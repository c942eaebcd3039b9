/** Sends files as a tar or a ZIP, which is created while it is read. */

import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Request, Response } from 'express'
import type { ExportedFile } from '../../vault/write/exported-files.ts'
import { networkOf } from '../connection/addresses.ts'
import { readingSignal } from '../connection/slow-client.ts'
import { stateOf } from '../request-state.ts'
import type { Archive } from './responses.ts'
import { writeTar } from './tar.ts'
import { zipOf } from './zip.ts'

interface Writing {
  /** The folder of all files in the archive, for formats that have one. */
  readonly folder: string
  readonly signal: AbortSignal
  /** Called with the fault that ends the archive, before anything is ended because of it. */
  readonly noteFault: (fault: unknown) => void
}

type Write = (files: AsyncIterable<ExportedFile>, sink: Writable, writing: Writing) => Promise<void>

const formats: Readonly<Record<Archive['format'], { readonly type: string; readonly write: Write }>> = {
  tar: { type: 'application/x-tar', write: writeTar },
  zip: { type: 'application/zip', write: writeZip },
}

/**
 * Sends an archive. A fault after the first byte ends the connection in the middle of the archive.
 *
 * @throws the errors of `content.send`, before the first byte
 */
export async function sendArchive(req: Request, res: Response, { content, format }: Archive): Promise<void> {
  const { type, write: writeAs } = formats[format]
  const { name } = content
  const headers = {
    'Content-Type': type,
    'Content-Disposition': `attachment; filename="${name.replace(/[^\w-]/g, '_')}.${format}"; filename*=UTF-8''${encodeURIComponent(name)}.${format}`,
  }
  // A tar is not compressed, because that would take a core for minutes.
  stateOf(req).isPacked = true
  if (req.method === 'HEAD') {
    for (const [header, value] of Object.entries(headers)) res.setHeader(header, value)
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
      for (const [header, value] of Object.entries(headers)) res.setHeader(header, value)
      res.status(200)
      await writeAs(continued(first, files), res, { folder: content.folder, signal: gone, noteFault })
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

async function* continued(
  first: IteratorResult<ExportedFile, void>,
  files: AsyncGenerator<ExportedFile>,
): AsyncGenerator<ExportedFile> {
  if (first.done) return
  yield first.value
  yield* files
}

/** Writes a ZIP. Its only folder keeps the files together, and an import leaves it out. */
async function writeZip(files: AsyncIterable<ExportedFile>, sink: Writable, { folder, signal, noteFault }: Writing) {
  const foldered = async function* () {
    for await (const file of files) yield { ...file, path: `${folder}/${file.path}` }
  }
  const noting = async function* () {
    try {
      yield* zipOf(foldered())
    } catch (error) {
      noteFault(error)
      throw error
    }
  }
  await pipeline(Readable.from(noting(), { objectMode: false }), sink, { signal })
}
