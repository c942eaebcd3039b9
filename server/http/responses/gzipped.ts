/**
 * Sends content that is stored gzipped. Clients with a valid copy get 304, clients that accept gzip get the bytes, and
 * others get them decompressed.
 */

import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import type { Request, Response } from 'express'
import { stateOf } from '../request-state.ts'
import type { Gzipped } from './responses.ts'

/** True if the response must not be compressed again. It is too large to be compressed per request. */
export function isPacked(res: Response): boolean {
  return stateOf(res.req).isPacked
}

/**
 * Sends gzipped JSON. The ETag is weak, because another zlib may compress the same version to other bytes. Caches may
 * store the response but must revalidate it, because access may end at any time. Shared caches may store only public
 * content. Source: RFC 9110, 8.8.3; 9111, 5.2.2.4.
 */
export async function sendGzipped(
  req: Request,
  res: Response,
  status: number,
  packed: Gzipped<unknown>,
): Promise<void> {
  stateOf(req).isPacked = true
  res.vary('Accept-Encoding')
  res.set({ 'Cache-Control': packed.isPublic ? 'no-cache' : 'private, no-cache', ETag: tagOf(packed.version) })
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

/** Sends the decompressed bytes. @throws zlib errors, but not when the client disconnects */
async function unpack(gzip: Uint8Array, res: Response): Promise<void> {
  const unzip = createGunzip()
  unzip.end(gzip)
  await pipeline(unzip, res).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error
  })
}
