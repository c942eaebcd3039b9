/** Reads a JSON body: decompresses it, within limits of bytes and time, and refuses it as soon as it exceeds them. */

import type { IncomingMessage } from 'node:http'
import type { Readable, Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { AppError, ValidationError } from '../../base/errors.ts'
import { exceededBound } from '../../base/json-bounds.ts'
import { findFault, type Place, placeAfter } from '../../domain/format/json-text.ts'

/** JSON is sent in UTF-8: what is none cannot be read as it was meant. */
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** A batch of 20,000 edges has some 30,000. 200,000 take 0.1 s to parse, those of a whole body 2 s. */
const maxContainers = 200_000

export interface BodyLimits {
  /** After decompression. */
  readonly bytes: number
  /** For the whole body, from now on. */
  readonly ms: number
  /** Called with the bytes so far; what it throws ends the reading. */
  readonly hold: (size: number) => void
}

/**
 * The JSON, parsed and as it was sent; undefined for an empty body. A refused body is not read further; the caller decides whether the connection
 * ends.
 *
 * @throws AppError too_large, request_timeout, unsupported_media_type; ValidationError json_invalid; what `hold` throws
 */
export async function readJson(
  req: IncomingMessage,
  limits: BodyLimits,
): Promise<{ readonly value: unknown; readonly text: string } | undefined> {
  if (Number(req.headers['content-length'] ?? 0) > limits.bytes) throw tooLarge(limits)
  const bytes = await readBytes(req, limits)
  if (bytes.length === 0) return undefined
  if (exceededBound(bytes, { containers: maxContainers }) !== undefined)
    throw badJson(`The JSON has more than ${maxContainers} objects and arrays; send it in several requests`)
  const text = decode(bytes)
  try {
    return { value: JSON.parse(text), text }
  } catch {
    throw undecodable(findFault(text))
  }
}

/** @throws ValidationError json_invalid */
function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw undecodable(placeAfter(beforeFault(bytes)))
  }
}

/** What is before the first bytes that are no UTF-8. */
function beforeFault(bytes: Buffer): string {
  const replaced = Buffer.from(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes))
  let same = 0
  while (replaced[same] === bytes[same]) same++
  // U+FFFD may begin with the same bytes as what it replaces; `stream` leaves out a character that is not whole.
  return new TextDecoder().decode(replaced.subarray(0, same), { stream: true })
}

/** Says where, and never what is there: it may be a secret. */
function undecodable(place: Place | undefined): ValidationError {
  const ctx = place === undefined ? {} : { ctx: { ...place } }
  return new ValidationError([{ loc: ['body'], msg: 'JSON decode error', type: 'json_invalid', ...ctx }])
}

export function badJson(msg: string): ValidationError {
  return new ValidationError([{ loc: ['body'], msg, type: 'json_invalid' }])
}

/** The body, decompressed. @throws as readJson */
export function readBytes(req: IncomingMessage, limits: BodyLimits): Promise<Buffer> {
  const inflater = inflaterFor(req.headers['content-encoding'])
  const source: Readable = inflater === undefined ? req : req.pipe(inflater)
  const parts: Buffer[] = []
  let size = 0
  return new Promise<Buffer>((resolve, reject) => {
    const late = `The body did not arrive in ${limits.ms / 1000} seconds`
    const overdue = setTimeout(() => end(new AppError('request_timeout', late)), limits.ms)
    const take = (part: Buffer) => {
      size += part.length
      try {
        if (size > limits.bytes) throw tooLarge(limits)
        limits.hold(size)
        parts.push(part)
      } catch (error) {
        end(error)
      }
    }
    const whole = () => end()
    const broken = () => end(badJson('The body is not compressed as its headers say'))
    const gone = () => {
      if (!req.complete) end(badJson('The body is not what its headers say'))
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
  return new AppError('too_large', `The body is over ${bytes / 1024 / 1024} MiB`)
}
