/** Serialises and sends large JSON in pieces, so that it does not block other requests. */

import { createHash } from 'node:crypto'
import { pipeline, Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Request, Response } from 'express'
import { reserveResponse } from '../connection/memory-budget.ts'

/** The approximate length of JSON, in characters, that is serialised at once: 10 ms. */
const piecesAboveCharacters = 1_048_576
/** Characters of a piece: 1 ms. */
const pieceCharacters = 131_072

/** True if the JSON is too long to be serialised at once. Stops counting as soon as it is. */
export function isLarge(body: unknown, characters = piecesAboveCharacters): boolean {
  let left = characters
  const exceeds = (value: unknown): boolean => {
    left -= typeof value === 'string' ? value.length + 3 : 8
    if (left < 0) return true
    if (typeof value !== 'object' || value === null) return false
    if (Array.isArray(value)) return value.some(exceeds)
    for (const name in value) {
      left -= name.length
      if (exceeds((value as Record<string, unknown>)[name])) return true // an object with this property
    }
    return false
  }
  return exceeds(body)
}

/**
 * Sends the same response as `res.json`. Serialises everything first, so that a slow client holds the bytes and not
 * `body`.
 *
 * @param person undefined: an anonymous reader
 * @throws AppError as reserveResponse
 */
export async function sendPieces(
  req: Request,
  res: Response,
  status: number,
  body: unknown,
  person: string | undefined,
): Promise<void> {
  const { pieces, length, etag } = await jsonInPieces(body)
  const isWanted = req.method !== 'HEAD' && req.get('If-None-Match') !== etag
  if (isWanted) reserveResponse(req, res, length, person)
  res.status(status).set('ETag', etag)
  if (req.fresh) {
    res.status(304).end()
    return
  }
  res.type('json').set('Content-Length', String(length))
  if (req.method === 'HEAD') {
    res.end()
    return
  }
  // Not awaited, since that would hold `body` while the client reads. Fails only if the client disconnects.
  pipeline(Readable.from(pieces), res, () => undefined)
}

interface JsonPieces {
  readonly pieces: readonly Buffer[]
  readonly length: number
  /** The same tag as the package `etag` computes for the whole body. */
  readonly etag: string
}

/** The bytes of `JSON.stringify(body)`. */
async function jsonInPieces(body: unknown): Promise<JsonPieces> {
  const pieces: Buffer[] = []
  const hash = createHash('sha1')
  let length = 0
  let text = ''
  const take = () => {
    const piece = Buffer.from(text)
    text = ''
    hash.update(piece)
    length += piece.length
    pieces.push(piece)
  }
  for (const part of partsOf(body)) {
    text += part
    if (text.length < pieceCharacters) continue
    take()
    await nextTurn()
  }
  take()
  return { pieces, length, etag: `W/"${length.toString(16)}-${hash.digest('base64').slice(0, 27)}"` }
}

function* partsOf(value: unknown): Iterable<string> {
  if (!isLarge(value, pieceCharacters)) yield JSON.stringify(value) ?? 'null'
  else if (typeof value === 'string') yield* partsOfText(value)
  else if (Array.isArray(value)) yield* partsOfArray(value)
  else yield* partsOfObject(value as object) // only strings, arrays and objects are large
}

function* partsOfText(text: string): Iterable<string> {
  yield '"'
  for (let at = 0; at < text.length; ) {
    const end = at + pieceCharacters
    // Keeps surrogate pairs together.
    const next = /[\ud800-\udbff]/.test(text.charAt(end - 1)) ? end + 1 : end
    yield JSON.stringify(text.slice(at, next)).slice(1, -1)
    at = next
  }
  yield '"'
}

function* partsOfArray(values: readonly unknown[]): Iterable<string> {
  let before = '['
  for (const value of values) {
    yield before
    yield* partsOf(value)
    before = ','
  }
  yield before === '[' ? '[]' : ']'
}

function* partsOfObject(value: object): Iterable<string> {
  let before = '{'
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue
    yield `${before}${JSON.stringify(name)}:`
    yield* partsOf(member)
    before = ','
  }
  yield before === '{' ? '{}' : '}'
}
