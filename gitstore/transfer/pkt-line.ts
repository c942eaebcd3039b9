/**
 * Reads and writes Git's frames. A frame is a length of four hexadecimal digits, which counts itself, then bytes.
 * `0000` ends a list. Source: gitprotocol-common(5).
 */

import { GitError } from '../errors.ts'

export const flush = Buffer.from('0000')
export const delimiter = Buffer.from('0001')

/** Bytes of the longest frame. */
const maxFrameBytes = 65_516

/** @throws RangeError for more than 65,516 bytes */
export function pktLine(content: string | Buffer): Buffer {
  const bytes = Buffer.from(content)
  if (bytes.length > maxFrameBytes) throw new RangeError(`A pkt-line cannot have ${bytes.length} bytes`)
  return Buffer.concat([Buffer.from((bytes.length + 4).toString(16).padStart(4, '0')), bytes])
}

/**
 * The bytes of a frame, or a separator. These are a flush (`0000`), a delimiter (`0001`), and a response's end
 * (`0002`).
 */
export type Pkt = Buffer | 'flush' | 'delimiter' | 'end'

const separators: Readonly<Record<number, Pkt>> = { 0: 'flush', 1: 'delimiter', 2: 'end' }

/**
 * Returns the frame at `offset`, and the offset of the next one. Undefined if the frame is incomplete.
 *
 * @throws GitError malformed_request
 */
function pktAt(bytes: Buffer, offset: number): { readonly pkt: Pkt; readonly next: number } | undefined {
  if (bytes.length < offset + 4) return undefined
  const digits = bytes.toString('latin1', offset, offset + 4)
  const length = /^[0-9a-f]{4}$/i.test(digits) ? Number.parseInt(digits, 16) : 3
  const separator = separators[length]
  if (separator !== undefined) return { pkt: separator, next: offset + 4 }
  if (length < 4) throw new GitError('malformed_request', 'This is not the protocol of git: a frame has no length')
  if (bytes.length < offset + length) return undefined
  return { pkt: bytes.subarray(offset + 4, offset + length), next: offset + length }
}

export interface PktBuffer {
  add(chunk: Buffer): void
  /** Returns the next frame, or undefined if it is incomplete. @throws GitError malformed_request */
  next(): Pkt | undefined
  /** The bytes after the last frame that was returned. */
  rest(): Buffer
}

/** Cuts chunks into frames. Copies each byte a bounded number of times, even if the chunks are tiny. */
export function pktBuffer(): PktBuffer {
  let chunks: Buffer[] = []
  let size = 0
  /** Bytes of the first chunk that were consumed. */
  let at = 0
  /** The least number of bytes of the next frame. */
  let needed = 4
  const joined = () => {
    const [first = Buffer.alloc(0), ...more] = chunks
    if (at === 0 && more.length === 0) return first
    const all = Buffer.concat([first.subarray(at), ...more])
    chunks = [all]
    at = 0
    return all
  }
  return {
    add: (chunk) => {
      chunks.push(chunk)
      size += chunk.length
      if (chunks.length >= 64) joined()
    },
    next: () => {
      if (size < needed) return undefined
      const bytes = chunks.length === 1 ? (chunks[0] ?? joined()) : joined()
      const found = pktAt(bytes, at)
      if (found === undefined) {
        needed = Number.parseInt(bytes.toString('latin1', at, at + 4), 16)
        return undefined
      }
      size -= found.next - at
      at = found.next
      needed = 4
      return found.pkt
    },
    rest: joined,
  }
}

/** The number of first characters of a frame that `frameTail` shows. */
const shownCharacters = 9

/**
 * Follows a stream of frames that another reader reads. `missing` returns the bytes that its last frame lacks, or
 * undefined within a length.
 *
 * @param begins called with the first characters of each frame's content, as far as they have arrived
 */
export function frameTail(begins: (start: string) => void = () => undefined): {
  add(chunk: Buffer): void
  missing(): number | undefined
} {
  let lacking = 0
  let digits = ''
  let start: string | undefined
  return {
    add: (chunk) => {
      for (let at = 0; at < chunk.length; ) {
        const skipped = Math.min(lacking, chunk.length - at)
        if (start !== undefined && skipped > 0) {
          start += chunk.toString('latin1', at, at + Math.min(skipped, shownCharacters - start.length))
          begins(start)
          if (start.length >= shownCharacters) start = undefined
        }
        lacking -= skipped
        at += skipped
        if (at === chunk.length) return
        const more = chunk.toString('latin1', at, at + 4 - digits.length)
        digits += more
        at += more.length
        if (digits.length < 4) return
        lacking = Math.max(0, Number.parseInt(digits, 16) - 4)
        digits = ''
        start = ''
      }
    },
    missing: () => (digits === '' ? lacking : undefined),
  }
}

/**
 * Yields the frames of a stream. Bytes after the last frame that was read are lost, so only one reader may use the
 * stream.
 */
export async function* readPkts(stream: AsyncIterable<Buffer>): AsyncGenerator<Pkt> {
  const buffered = pktBuffer()
  for await (const chunk of stream) {
    buffered.add(chunk)
    for (let pkt = buffered.next(); pkt !== undefined; pkt = buffered.next()) yield pkt
  }
}
