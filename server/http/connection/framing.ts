/** The length of a body: read from a message, and stated to another cell. */

import type { IncomingMessage } from 'node:http'
import { AppError } from '../../base/errors.ts'

/** Bytes of the body, or `chunked`. */
export type Framing = number | 'chunked'

/**
 * Node's parser hands over only the first 1,000 headers, although it reads all. Any of the others may state the length
 * of the body.
 */
const headersHandedOver = 1_000
/** A length of at most fifteen digits: every such number is exact. */
const plainLength = /^\d{1,15}$/
/**
 * Methods that have no body unless their headers say so. With other methods, headers must also state an empty body.
 * Source: RFC 9110, 8.6.
 */
const withoutBody: readonly string[] = ['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE']

/**
 * Reads the length of a body; undefined if the headers state none. Every recipient must read the same length, or the
 * rest of a body becomes the next request on a shared connection. This is why two statements, an unknown coding and a
 * list are refused. Source: RFC 9112, 6.3.
 *
 * @throws AppError bad_request
 */
export function framingOf({ httpVersion, rawHeaders }: IncomingMessage): Framing | undefined {
  if (rawHeaders.length >= 2 * headersHandedOver)
    throw new AppError('bad_request', `There are ${headersHandedOver} headers or more; send fewer`)
  const lengths = valuesOf(rawHeaders, 'content-length')
  const codings = valuesOf(rawHeaders, 'transfer-encoding')
  const [stated = '', ...more] = [...lengths, ...codings]
  if (lengths.length + codings.length === 0) return undefined
  if (more.length === 0 && lengths.length === 1 && plainLength.test(stated)) return Number(stated)
  if (more.length === 0 && httpVersion === '1.1' && stated.toLowerCase() === 'chunked') return 'chunked'
  throw new AppError(
    'bad_request',
    'The length of the body is uncertain; send one Content-Length, or Transfer-Encoding: chunked over HTTP/1.1',
  )
}

/** The headers that state the length of a request's body, as name and value. */
export function statedLength(method: string, framing: Framing): string[] {
  if (framing === 'chunked') return ['Transfer-Encoding', 'chunked']
  return framing === 0 && withoutBody.includes(method) ? [] : ['Content-Length', String(framing)]
}

function valuesOf(raw: readonly string[], name: string): string[] {
  const values: string[] = []
  for (let at = 0; at + 1 < raw.length; at += 2) {
    if (raw[at]?.toLowerCase() === name) values.push((raw[at + 1] ?? '').trim())
  }
  return values
}
