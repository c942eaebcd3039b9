/** The file format of segments: a header with their origin, then the arrays. */
import { crc32 } from 'node:zlib'
import { z } from 'zod'
import type { Postings, Segment } from './segment.ts'
import type { StringTable } from './string-table.ts'

/** The origin of a file's segments. The file is unusable if one of these values differs. */
export interface Origin {
  /** The version of the analyzer, which determines the terms of a text. */
  readonly analyzer: string
  /** The epoch of the organisation's row. Versions are comparable only within an epoch. */
  readonly epoch: string
  /** The file holds the documents whose last change is in (from, to]. */
  readonly from: number
  readonly to: number
}

const MAGIC = 'GROVESEG'
/** Bytes of the magic, the header's length and the header's checksum. */
const HEAD = 16
/** Arrays start at multiples of this, so that views of 8-byte numbers are possible. */
const ALIGNMENT = 8

const Header = z.object({
  analyzer: z.string(),
  epoch: z.string(),
  from: z.number(),
  to: z.number(),
  /** The checksum of all arrays and the padding between them. */
  crc: z.number(),
  /** The number of fields of each segment. */
  fields: z.array(z.number()),
  /** The bytes of each array, in the order of `arraysOf`. */
  lengths: z.array(z.number()),
})

type NumberArray = Uint8Array | Uint32Array | Float64Array

/** Returns the file's content in pieces, without copying the arrays. */
export function encodeSegments(segments: readonly Segment[], origin: Origin): Buffer[] {
  const pieces = segments.flatMap(arraysOf).flatMap((array) => {
    const bytes = Buffer.from(array.buffer, array.byteOffset, array.byteLength)
    return [bytes, Buffer.alloc(padding(bytes.length))]
  })
  const header = {
    ...origin,
    crc: checksumOf(pieces),
    fields: segments.map(({ fields }) => fields.length),
    lengths: pieces.filter((_, i) => i % 2 === 0).map(({ length }) => length),
  } satisfies z.infer<typeof Header>
  const bare = Buffer.from(JSON.stringify(header))
  const text = Buffer.concat([bare, Buffer.alloc(padding(HEAD + bare.length), ' ')])
  const head = Buffer.alloc(HEAD)
  head.write(MAGIC, 'latin1')
  head.writeUInt32LE(text.length, 8)
  head.writeUInt32LE(checksumOf([text]), 12)
  return [head, text, ...pieces]
}

function padding(length: number): number {
  return (ALIGNMENT - (length % ALIGNMENT)) % ALIGNMENT
}

/** Computes a checksum over all pieces. Skips empty ones, for which Node's crc32 always returns 0. */
function checksumOf(pieces: readonly Buffer[]): number {
  return pieces.reduce((sum, piece) => (piece.length === 0 ? sum : crc32(piece, sum)), 0)
}

function arraysOf({ terms, ids, fields, lengths, times }: Segment): NumberArray[] {
  const ofFields = fields.flatMap(({ starts, documents, counts, many }) => [
    starts,
    documents,
    counts,
    Uint32Array.from([...many].flat()),
  ])
  return [terms.bytes, terms.starts, ids.bytes, ids.starts, times, ...lengths, ...ofFields]
}

/** Returns segments as views of `file`, which must not change. Undefined if the file is incomplete or damaged. */
export function decodeSegments(file: Buffer): { segments: Segment[]; origin: Origin } | undefined {
  if (file.length < HEAD || file.toString('latin1', 0, MAGIC.length) !== MAGIC) return undefined
  const base = HEAD + file.readUInt32LE(8)
  const text = file.subarray(HEAD, base)
  if (file.length < base || checksumOf([text]) !== file.readUInt32LE(12)) return undefined
  const header = Header.safeParse(JSON.parse(text.toString()))
  if (!header.success || checksumOf([file.subarray(base)]) !== header.data.crc) return undefined
  const { fields, lengths, analyzer, epoch, from, to } = header.data
  const sections: Uint8Array[] = []
  let at = base
  for (const length of lengths) {
    sections.push(file.subarray(at, at + length))
    at += length + padding(length)
  }
  const segments = fields.map((count) => segmentOf(sections, count))
  return { segments, origin: { analyzer, epoch, from, to } }
}

/** Builds a segment from the first sections, and removes them from the list. */
function segmentOf(sections: Uint8Array[], fieldCount: number): Segment {
  const bytes = () => sections.shift() ?? new Uint8Array(0)
  const numbers = () => {
    const section = bytes()
    return new Uint32Array(section.buffer, section.byteOffset, section.length / 4)
  }
  const table = (): StringTable => ({ bytes: bytes(), starts: numbers() })
  const terms = table()
  const ids = table()
  const column = bytes()
  const times = new Float64Array(column.buffer, column.byteOffset, column.length / 8)
  const lengths = Array.from({ length: fieldCount }, numbers)
  const fields = lengths.map(
    (): Postings => ({ starts: numbers(), documents: numbers(), counts: bytes(), many: pairs(numbers()) }),
  )
  return { terms, ids, fields, lengths, times }
}

function pairs(flat: Uint32Array): Map<number, number> {
  const map = new Map<number, number>()
  for (let i = 0; i + 1 < flat.length; i += 2) map.set(flat[i] ?? 0, flat[i + 1] ?? 0)
  return map
}
