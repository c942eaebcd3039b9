/** Sends what is kept compressed: 304 to who has it, the bytes as they are to who takes gzip, unpacked to all others. */

import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import type { Request, Response } from 'express'
import type { Gzipped } from './responses.ts'

/** Not to be compressed on its way, whatever the client takes: it is too large for that to be done for each request. */
export function isPacked(res: Response): boolean {
  return res.locals.packed === true
}

/**
 * The ETag is weak: one version has the same meaning in each encoding, and the same compressed bytes only from the same
 * zlib. Caches may store it, but ask every time, since it may be withdrawn at any. Source: RFC 9110, 8.8.3; 9111, 5.2.2.4.
 */
export async function sendGzipped(
  req: Request,
  res: Response,
  status: number,
  packed: Gzipped<unknown>,
): Promise<void> {
  res.locals.packed = true
  res.vary('Accept-Encoding')
  res.set({ 'Cache-Control': 'no-cache', ETag: tagOf(packed.version) })
  if (req.fresh) {
    res.status(304).end()
    return
  }
  const { version, gzip, length } = await packed.read()
  const zipped = req.acceptsEncodings('gzip', 'identity') === 'gzip'
  res.status(status).set({ ETag: tagOf(version), 'Content-Type': 'application/json; charset=utf-8' })
  res.set('Content-Length', String(zipped ? gzip.byteLength : length))
  if (zipped) res.set('Content-Encoding', 'gzip')
  if (req.method === 'HEAD') res.end()
  else if (zipped) res.end(gzip)
  else await unpack(gzip, res)
}

function tagOf(version: string): string {
  return `W/"${version}"`
}

/** @throws what zlib throws; not where the client went away */
async function unpack(gzip: Uint8Array, res: Response): Promise<void> {
  const unzip = createGunzip()
  unzip.end(gzip)
  await pipeline(unzip, res).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error
  })
}
