/** Reads and decompresses a JSON body, within limits of bytes and time. Refuses it as soon as it exceeds them. */

import type { IncomingMessage } from 'node:http'
import type { Readable, Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { AppError, ValidationError } from '../../base/errors.ts'
import { exceededBound } from '../../base/json-bounds.ts'
import * as limits from '../../base/limits.ts'
import { findFault, type Place, placeAfter } from '../../domain/format/json-text.ts'

/** JSON is sent in UTF-8. Other bytes cannot be read as they were meant. */
const utf8 = new TextDecoder('utf-8', { fatal: true })

export interface BodyLimits {
  /** The most bytes after decompression. */
  readonly bytes: number
  /** Milliseconds for the whole body, counted from the call. */
  readonly ms: number
  /** Called with the bytes read so far. An error that it throws ends the reading. */
  readonly hold: (size: number) => void
}

/**
 * Reads the JSON, parsed and as it was sent; undefined for an empty body. The rest of a refused body is not read. The
 * caller decides whether the connection ends.
 *
 * @throws AppError too_large, request_timeout, unsupported_media_type
 * @throws ValidationError json_invalid; the errors of `hold`
 */
export async function readJson(
  req: IncomingMessage,
  most: BodyLimits,
): Promise<{ readonly value: unknown; readonly text: string } | undefined> {
  if (Number(req.headers['content-length'] ?? 0) > most.bytes) throw tooLarge(most)
  const bytes = await readBytes(req, most)
  if (bytes.length === 0) return undefined
  if (exceededBound(bytes, { containers: limits.jsonContainers }) !== undefined)
    throw badJson(`The JSON has more than ${limits.jsonContainers} objects and arrays; send it in several requests`)
  const text = decode(bytes)
  try {
    return { value: JSON.parse(text), text }
  } catch {
    throw undecodable(findFault(text))
  }
}

/** Decodes UTF-8. @throws ValidationError json_invalid */
function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw undecodable(placeAfter(beforeFault(bytes)))
  }
}

/** The text before the first bytes that are not UTF-8. */
function beforeFault(bytes: Buffer): string {
  const replaced = Buffer.from(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes))
  let same = 0
  while (replaced[same] === bytes[same]) same++
  // U+FFFD may begin with the same bytes as those that it replaces. `stream` omits an incomplete character.
  return new TextDecoder().decode(replaced.subarray(0, same), { stream: true })
}

/** The error for invalid JSON. It names the place but never quotes the text, which may be a secret. */
function undecodable(place: Place | undefined): ValidationError {
  const ctx = place === undefined ? {} : { ctx: { ...place } }
  return new ValidationError([{ loc: ['body'], msg: 'JSON decode error', type: 'json_invalid', ...ctx }])
}

export function badJson(msg: string): ValidationError {
  return new ValidationError([{ loc: ['body'], msg, type: 'json_invalid' }])
}

/** Reads the decompressed body. @throws the errors of readJson */
export function readBytes(req: IncomingMessage, most: BodyLimits): Promise<Buffer> {
  const inflater = inflaterFor(req.headers['content-encoding'])
  const source: Readable = inflater === undefined ? req : req.pipe(inflater)
  const parts: Buffer[] = []
  let size = 0
  return new Promise<Buffer>((resolve, reject) => {
    const late = `The body did not arrive in ${most.ms / 1000} seconds`
    const overdue = setTimeout(() => end(new AppError('request_timeout', late)), most.ms)
    const take = (part: Buffer) => {
      size += part.length
      try {
        if (size > most.bytes) throw tooLarge(most)
        most.hold(size)
        parts.push(part)
      } catch (error) {
        end(error)
      }
    }
    const whole = () => end()
    const broken = () => end(badJson('The body is not compressed as its headers state'))
    const gone = () => {
      if (!req.complete) end(badJson('The body does not match its headers'))
    }
    const end = (refusal?: unknown) => {
      clearTimeout(overdue)
      source.off('data', take).off('end', whole)
      req.off('close', gone)
      if (refusal === undefined) {
        resolve(Buffer.concat(parts))
        return
      }
      if (inflater !== undefined) req.unpipe(inflater)
      inflater?.destroy()
      req.resume()
      reject(refusal)
    }
    req.on('close', gone).on('error', gone)
    inflater?.on('error', broken)
    source.on('data', take).on('end', whole)
  })
}

function inflaterFor(encoding = 'identity'): Transform | undefined {
  switch (encoding.toLowerCase()) {
    case 'identity':
      return undefined
    case 'gzip':
      return createGunzip()
    case 'deflate':
      return createInflate()
    case 'br':
      return createBrotliDecompress()
    default:
      throw new AppError('unsupported_media_type', 'Send application/json in UTF-8, plain or compressed with gzip')
  }
}

function tooLarge({ bytes }: BodyLimits): AppError {
  const most = bytes < 2 ** 20 ? `${bytes / 1024} KiB` : `${bytes / 2 ** 20} MiB`
  return new AppError('too_large', `The body is over ${most}`)
}
