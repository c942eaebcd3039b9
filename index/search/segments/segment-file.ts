/** Segments as one file: a header that says what they are of, then their arrays as they lie in memory. */
import { crc32 } from 'node:zlib'
import { z } from 'zod'
import type { Postings, Segment } from './segment.ts'
import type { StringTable } from './string-table.ts'

/** What a file is of. It is of no use where one of these differs. */
export interface Origin {
  /** The version of whatever decides about the terms of a text. */
  readonly analyzer: string
  /** The epoch of the organisation's row, to which the versions belong. */
  readonly epoch: string
  /** It holds the documents that changed last in (from, to]. */
  readonly from: number
  readonly to: number
}

const MAGIC = 'GROVESEG'
/** The magic, the length of the header and its checksum. */
const HEAD = 16
/** Arrays begin at multiples of it, so that views of 8-byte numbers are possible. */
const ALIGNMENT = 8

const Header = z.object({
  analyzer: z.string(),
  epoch: z.string(),
  from: z.number(),
  to: z.number(),
  /** Of all arrays, with what lies between them. */
  crc: z.number(),
  /** By segment: how many fields it has. */
  fields: z.array(z.number()),
  /** Bytes of each array, in the order of `arraysOf`. */
  lengths: z.array(z.number()),
})

type NumberArray = Uint8Array | Uint32Array | Float64Array

/** The file's content in pieces; the arrays are not copied. */
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

/** Node's crc32 of nothing is 0, whatever came before. */
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

/** Views of `file`, which must not change; undefined where it is not whole. */
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

/** Takes the first sections. */
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
