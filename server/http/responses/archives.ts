/** Sends files as a tar or a ZIP, which is created while it is read. */

import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Request, Response } from 'express'
import type { ArchiveFile } from '../../domain/archive.ts'
import type { Archive } from './responses.ts'
import { attachment, noting, sendStreamed, type Writing } from './streamed.ts'
import { writeTar } from './tar.ts'
import { zipOf } from './zip.ts'

interface ArchiveWriting extends Writing {
  /** The folder of all files in the archive, for formats that have one. */
  readonly folder: string
}

type Write = (files: AsyncIterable<ArchiveFile>, sink: Writable, writing: ArchiveWriting) => Promise<void>

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
  const { type, write } = formats[format]
  const { name, folder, send } = content
  await sendStreamed(req, res, {
    headers: { 'Content-Type': type, 'Content-Disposition': attachment(name, format) },
    send,
    write: (files, writing) => write(files, res, { folder, ...writing }),
  })
}

/** Writes a ZIP. Its only folder keeps the files together, and an import leaves it out. */
async function writeZip(
  files: AsyncIterable<ArchiveFile>,
  sink: Writable,
  { folder, signal, noteFault }: ArchiveWriting,
) {
  const foldered = async function* () {
    for await (const file of files) yield { ...file, path: `${folder}/${file.path}` }
  }
  const content = noting(zipOf(foldered()), noteFault)
  await pipeline(Readable.from(content, { objectMode: false }), sink, { signal })
}
