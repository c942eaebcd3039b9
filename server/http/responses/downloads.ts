/** Sends files as bytes, whole or a range. They are never sent as something that a browser runs. */

import type { Request, Response } from 'express'
import { AppError } from '../../base/errors.ts'
import { networkOf } from '../connection/addresses.ts'
import { readingSignal } from '../connection/slow-client.ts'
import { stateOf } from '../request-state.ts'
import type { Download } from './responses.ts'

/**
 * The policy of files. Nothing in them is loaded, run or submitted, even if a browser guesses another type. Source: CSP
 * Level 3, 6.3.2.
 */
const policy = "default-src 'none'; sandbox"
const immutable = 'private, max-age=31536000, immutable'

/** Sends a download. @throws AppError range_not_satisfiable; before the first byte also the errors of `file.send` */
export async function sendDownload(req: Request, res: Response, { file }: Download): Promise<void> {
  const etag = `"${file.oid}"`
  // Neither a proxy nor this service may compress it, because ranges count its bytes.
  stateOf(req).isPacked = true
  const headers: Record<string, string> = {
    ETag: etag,
    'Accept-Ranges': 'bytes',
    'Cache-Control': file.isImmutable ? immutable : 'private, no-cache',
    'Content-Security-Policy': policy,
    'Content-Disposition': dispositionOf(file.isShown ? 'inline' : 'attachment', file.name),
  }
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
  if (req.fresh) {
    res.status(304).end()
    return
  }
  const range = rangeOf(req, etag, file.size)
  if (range === 'none') {
    forget(res, Object.keys(headers))
    res.setHeader('Content-Range', `bytes */${file.size}`)
    throw new AppError('range_not_satisfiable', `The file has ${file.size} bytes`)
  }
  const { from, to } = range ?? { from: 0, to: file.size }
  if (range) res.setHeader('Content-Range', `bytes ${from}-${to - 1}/${file.size}`)
  // Not Express's `set`, which adds a charset.
  res.setHeader('Content-Type', file.type)
  res.setHeader('Content-Length', String(to - from))
  res.status(range ? 206 : 200)
  if (req.method === 'HEAD' || from === to) {
    res.end()
    return
  }
  const gone = readingSignal(req, res)
  try {
    await file.send(res, { from, to }, { signal: gone, from: networkOf(req) })
  } catch (error) {
    if (gone.aborted) throw gone.reason
    if (!res.headersSent) forget(res, [...Object.keys(headers), 'Content-Range', 'Content-Type', 'Content-Length'])
    throw error
  }
}

/** Removes headers, because another response is sent instead. */
function forget(res: Response, names: readonly string[]): void {
  for (const name of names) res.removeHeader(name)
}

/**
 * The range to send. Undefined: the whole file, also for several ranges, or for a range of an older version. Source:
 * RFC 9110, 13.1.5 and 14.2.
 */
function rangeOf(req: Request, etag: string, size: number): { from: number; to: number } | 'none' | undefined {
  const ifRange = req.get('If-Range')
  if (req.method !== 'GET' || (ifRange !== undefined && ifRange !== etag)) return undefined
  const header = req.get('Range') ?? ''
  const ranges = req.range(size)
  // The package calls a range unsatisfiable whose end is before its beginning. It is invalid. Source: RFC 9110, 14.1.1.
  const [, first, last] = /^bytes=\s*(\d+)-(\d+)\s*$/i.exec(header) ?? []
  if (Number(last) < Number(first)) return undefined
  // The package refuses a suffix range that is longer than the file. It means the whole file. Source: RFC 9110, 14.1.2.
  if (ranges === -1 && size > 0 && /^bytes=\s*-0*[1-9]\d*\s*$/i.test(header)) return { from: 0, to: size }
  if (ranges === -1) return 'none'
  if (ranges === undefined || ranges === -2 || ranges.type !== 'bytes' || ranges.length !== 1) return undefined
  const [range] = ranges
  return range && { from: range.start, to: range.end + 1 }
}

/** The Content-Disposition header. Source: RFC 6266, with the encoding of RFC 8187. */
function dispositionOf(kind: 'inline' | 'attachment', name: string): string {
  const ascii = name.replace(/[^\w .()+,=@~-]/g, '_')
  const encoded = encodeURIComponent(name.replace(/\p{Surrogate}/gu, '_')).replace(/['()*]/g, (one) => {
    return `%${one.charCodeAt(0).toString(16).toUpperCase()}`
  })
  return `${kind}; filename="${ascii}"; filename*=UTF-8''${encoded}`
}
