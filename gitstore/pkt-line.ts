/** Git's frames: four hexadecimal digits of length, themselves included, then bytes; `0000` ends a list. Source: gitprotocol-common(5). */

import { GitError } from './errors.ts'

export const flush = Buffer.from('0000')

/** The most that one frame holds. */
const longest = 65_516

/** @throws RangeError for more than 65,516 bytes */
export function pktLine(text: string): Buffer {
  const bytes = Buffer.from(text)
  if (bytes.length > longest) throw new RangeError(`${bytes.length} bytes are no pkt-line`)
  return Buffer.concat([Buffer.from((bytes.length + 4).toString(16).padStart(4, '0')), bytes])
}

/** A frame: its bytes, or what separates lists: a flush (`0000`), a delimiter (`0001`), a response's end (`0002`). */
export type Pkt = Buffer | 'flush' | 'delimiter' | 'end'

const separators: Readonly<Record<number, Pkt>> = { 0: 'flush', 1: 'delimiter', 2: 'end' }

/** The frame that begins at `offset`, and where the next one does; undefined where it is not whole yet. @throws GitError native_failed */
export function pktAt(bytes: Buffer, offset: number): { readonly pkt: Pkt; readonly next: number } | undefined {
  if (bytes.length < offset + 4) return undefined
  const digits = bytes.toString('latin1', offset, offset + 4)
  const length = /^[0-9a-f]{4}$/i.test(digits) ? Number.parseInt(digits, 16) : 3
  const separator = separators[length]
  if (separator !== undefined) return { pkt: separator, next: offset + 4 }
  if (length < 4) throw new GitError('native_failed', 'Not a pkt-line')
  if (bytes.length < offset + length) return undefined
  return { pkt: bytes.subarray(offset + 4, offset + length), next: offset + length }
}

/** The frames of a stream. It must be read to its end, or left: nothing behind the last frame asked for is kept. */
export async function* readPkts(stream: AsyncIterable<Buffer>): AsyncGenerator<Pkt> {
  let rest = Buffer.alloc(0)
  for await (const chunk of stream) {
    rest = Buffer.concat([rest, chunk])
    let at = 0
    for (let found = pktAt(rest, at); found !== undefined; found = pktAt(rest, at)) {
      yield found.pkt
      at = found.next
    }
    rest = rest.subarray(at)
  }
}
