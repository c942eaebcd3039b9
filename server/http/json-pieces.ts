/** JSON of large answers, made and sent in pieces, so that no other request waits until all of it is there. */

import { createHash } from 'node:crypto'
import { pipeline, Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Request, Response } from 'express'

/** Characters of JSON, roughly, that are made at once: 10 ms. */
const atOnce = 1_048_576
/** Characters of a piece: 1 ms. */
const pieceCharacters = 131_072

/** Whether the JSON is too long to be made at once; nothing more is looked at than says so. */
export function isLarge(body: unknown, characters = atOnce): boolean {
  let left = characters
  const exceeds = (value: unknown): boolean => {
    left -= typeof value === 'string' ? value.length + 3 : 8
    if (left < 0) return true
    if (typeof value !== 'object' || value === null) return false
    if (Array.isArray(value)) return value.some(exceeds)
    for (const name in value) {
      left -= name.length
      if (exceeds((value as Record<string, unknown>)[name])) return true // it is an object, with this property
    }
    return false
  }
  return exceeds(body)
}

/** As `res.json` sends it. All of it is made first, as bytes: a slow client keeps these and nothing of `body`. */
export async function sendPieces(req: Request, res: Response, status: number, body: unknown): Promise<void> {
  const { pieces, length, etag } = await jsonInPieces(body)
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
  // Not awaited, which would keep `body` for as long as the client reads. It fails only where the client goes away.
  pipeline(Readable.from(pieces), res, () => undefined)
}

interface JsonPieces {
  readonly pieces: readonly Buffer[]
  readonly length: number
  /** As the package `etag` makes it of a whole body. */
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
  else yield* partsOfObject(value as object) // what is large is a text, an array or an object
}

function* partsOfText(text: string): Iterable<string> {
  yield '"'
  for (let at = 0; at < text.length; ) {
    const end = at + pieceCharacters
    // Both halves of a surrogate pair belong together.
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
