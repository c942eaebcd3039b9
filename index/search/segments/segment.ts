/** An immutable part of an index, with MiniSearch's postings in typed arrays. */
import { pick, rankOf, type StringTable, sizeOf, stringAt, tableOf, tableWriter, walkTables } from './string-table.ts'

/** The postings of one field. Term t has the postings `[starts[t], starts[t + 1])`, ascending by document. */
export interface Postings {
  readonly starts: Uint32Array
  readonly documents: Uint32Array
  /** Term frequency by posting, at most MANY. */
  readonly counts: Uint8Array
  /** Term frequency by posting, for frequencies of MANY or more. */
  readonly many: ReadonlyMap<number, number>
}

/** A segment. A document's number is the rank of its id. */
export interface Segment {
  readonly terms: StringTable
  readonly ids: StringTable
  /** Postings by field number. */
  readonly fields: readonly Postings[]
  /** The number of distinct terms, by field and document. */
  readonly lengths: readonly Uint32Array[]
  /** Milliseconds since 1970, by document. */
  readonly times: Float64Array
}

/** The smallest frequency that does not fit into a byte. In `counts` it marks an entry of `many`. */
export const MANY = 255

/** The frequency of a term by field and document, with MiniSearch's numbers. */
export type LivePostings = ReadonlyMap<number, ReadonlyMap<number, number>>

export function countAt({ counts, many }: Postings, posting: number): number {
  const count = counts[posting] ?? 0
  return count === MANY ? (many.get(posting) ?? MANY) : count
}

/** Returns a test for ranks. It is true if the term with this rank has postings in the field. */
export function inField({ fields }: Segment, field: number): (rank: number) => boolean {
  const starts = fields[field]?.starts
  return (rank) => starts !== undefined && (starts[rank] ?? 0) < (starts[rank + 1] ?? 0)
}

/** Finds the posting of a document in `[from, to)`. Returns -1 if it has none. */
export function postingOf(documents: Uint32Array, from: number, to: number, document: number): number {
  let low = from
  let high = to - 1
  while (low <= high) {
    const middle = (low + high) >> 1
    const found = documents[middle] ?? 0
    if (found === document) return middle
    if (found < document) low = middle + 1
    else high = middle - 1
  }
  return -1
}

/** Returns the bytes in memory, except for a few hundred. */
export function bytesOf({ terms, ids, fields, lengths, times }: Segment): number {
  const arrays = [terms.bytes, terms.starts, ids.bytes, ids.starts, times, ...lengths]
  const postings = fields.flatMap(({ starts, documents, counts }) => [starts, documents, counts])
  const many = fields.reduce((sum, field) => sum + field.many.size, 0)
  return [...arrays, ...postings].reduce((sum, { byteLength }) => sum + byteLength, 40 * many)
}

/** The contents of a MiniSearch index, by MiniSearch's document numbers, in any order. */
export interface Unsorted {
  readonly ids: ReadonlyMap<number, unknown>
  /** Greater than every document number. */
  readonly idsEnd: number
  /** The number of distinct terms, by document and field. */
  readonly lengths: ReadonlyMap<number, readonly number[]>
  /** The postings of each term. */
  readonly postings: Iterable<readonly [string, LivePostings]>
  /** Returns the time of a document in milliseconds since 1970. */
  timeOf(id: string): number
}

/** Converts a MiniSearch index to a segment. */
export function flattenIndex(
  { ids: idOf, idsEnd, lengths: lengthsOf, postings, timeOf }: Unsorted,
  fieldCount: number,
): Segment {
  const encoded = [...idOf].map(([shortId, id]): [Uint8Array, number] => [Buffer.from(String(id)), shortId])
  encoded.sort(([a], [b]) => Buffer.compare(a, b))
  const ids = tableOf(encoded.map(([bytes]) => bytes))
  const numberOf = new Int32Array(idsEnd).fill(-1)
  const lengths = Array.from({ length: fieldCount }, () => new Uint32Array(encoded.length))
  const times = new Float64Array(encoded.length)
  for (const [document, [, shortId]] of encoded.entries()) {
    numberOf[shortId] = document
    times[document] = timeOf(stringAt(ids, document))
    for (const [field, column] of lengths.entries()) column[document] = lengthsOf.get(shortId)?.[field] ?? 0
  }
  const all = [...postings].map(([term, counts]): [Uint8Array, LivePostings] => [Buffer.from(term), counts])
  all.sort(([a], [b]) => Buffer.compare(a, b))
  const fields = lengths.map((_, field) => flattened(all, field, numberOf))
  return { terms: tableOf(all.map(([bytes]) => bytes)), ids, fields, lengths, times }
}

function flattened(all: readonly [Uint8Array, LivePostings][], field: number, numberOf: Int32Array): Postings {
  const writer = postingsWriter(
    all.length,
    all.reduce((sum, [, postings]) => sum + (postings.get(field)?.size ?? 0), 0),
  )
  for (const [, postings] of all) {
    const counts = [...(postings.get(field) ?? [])].map(([shortId, count]) => [numberOf[shortId] ?? 0, count] as const)
    counts.sort(([a], [b]) => a - b)
    for (const [document, count] of counts) writer.add(document, count)
    writer.endTerm()
  }
  return writer.postings()
}

function postingsWriter(terms: number, size: number) {
  const starts = new Uint32Array(terms + 1)
  const documents = new Uint32Array(size)
  const counts = new Uint8Array(size)
  const many = new Map<number, number>()
  let written = 0
  let ended = 0
  return {
    add(document: number, count: number): void {
      documents[written] = document
      counts[written] = Math.min(count, MANY)
      if (count >= MANY) many.set(written, count)
      written++
    },
    /** Ends a term. The following postings belong to the next one. */
    endTerm(): void {
      starts[++ended] = written
    },
    /** Returns the number of postings so far. */
    written: () => written,
    /** Returns the postings. Copies arrays that are not full. */
    postings: (): Postings => ({
      starts: ended === terms ? starts : starts.slice(0, ended + 1),
      documents: written === size ? documents : documents.slice(0, written),
      counts: written === size ? counts : counts.slice(0, written),
      many,
    }),
  }
}

export interface MergedPart {
  readonly segment: Segment
  /** Indexed by document number, 1 for documents to leave out. */
  readonly dead?: Uint8Array | undefined
}

/** The terms and documents that a merge processes before it yields, about a millisecond. */
const TERMS_A_TURN = 256

/** Merges segments. No document may be alive in two of them. Other code may run at each `yield`. */
export function* merge(parts: readonly MergedPart[]): Generator<undefined, Segment, undefined> {
  const numberOf = parts.map(({ segment }) => new Int32Array(sizeOf(segment.ids)).fill(-1))
  const live = parts.map(({ segment: { ids }, dead }) => livingOf(ids, dead))
  const count = live.reduce((sum, { ranks }) => sum + ranks.length, 0)
  const ids = tableWriter(
    count,
    sumOf(live, ({ table }) => table.bytes.length),
  )
  const fieldCount = parts[0]?.segment.fields.length ?? 0
  const lengths = Array.from({ length: fieldCount }, () => new Uint32Array(count))
  const times = new Float64Array(count)
  let document = 0
  for (const ranks of walkTables(live.map(({ table }) => table))) {
    const i = ranks.findIndex((rank) => rank >= 0)
    const { segment } = parts[i] ?? neverEmpty()
    const old = live[i]?.ranks[ranks[i] ?? 0] ?? 0
    ids.add(segment.ids, old)
    for (const [field, column] of lengths.entries()) column[document] = segment.lengths[field]?.[old] ?? 0
    times[document] = segment.times[old] ?? 0
    const numbers = numberOf[i]
    if (numbers) numbers[old] = document
    if (++document % TERMS_A_TURN === 0) yield
  }
  const { terms, fields } = yield* mergePostings(
    parts.map(({ segment }) => segment),
    numberOf,
  )
  return { terms, ids: ids.table(), fields, lengths, times }
}

function livingOf(ids: StringTable, dead: Uint8Array | undefined): { table: StringTable; ranks: readonly number[] } {
  const ranks = Array.from({ length: sizeOf(ids) }, (_, rank) => rank).filter((rank) => dead?.[rank] !== 1)
  return { table: dead === undefined ? ids : pick(ids, ranks), ranks }
}

function* mergePostings(segments: readonly Segment[], numberOf: readonly Int32Array[]) {
  const most = sumOf(segments, ({ terms }) => sizeOf(terms))
  const terms = tableWriter(
    most,
    sumOf(segments, (segment) => segment.terms.bytes.length),
  )
  const fieldCount = segments[0]?.fields.length ?? 0
  const writers = Array.from({ length: fieldCount }, (_, field) =>
    postingsWriter(
      most,
      sumOf(segments, ({ fields }) => fields[field]?.documents.length ?? 0),
    ),
  )
  let walked = 0
  for (const ranks of walkTables(segments.map((segment) => segment.terms))) {
    const before = writers.reduce((sum, writer) => sum + writer.written(), 0)
    for (const [field, writer] of writers.entries()) mergeTerm(segments, numberOf, ranks, field, writer)
    const after = writers.reduce((sum, writer) => sum + writer.written(), 0)
    if (after > before) {
      for (const writer of writers) writer.endTerm()
      const i = ranks.findIndex((rank) => rank >= 0)
      terms.add((segments[i] ?? neverEmpty()).terms, ranks[i] ?? 0)
    }
    walked += 1 + after - before
    if (walked < 16 * TERMS_A_TURN) continue
    walked = 0
    yield
  }
  return { terms: terms.table(), fields: writers.map((writer) => writer.postings()) }
}

/** Writes the postings of one term in one field, with new document numbers. */
function mergeTerm(
  segments: readonly Segment[],
  numberOf: readonly Int32Array[],
  ranks: Int32Array,
  field: number,
  writer: ReturnType<typeof postingsWriter>,
): void {
  const sources: Source[] = []
  for (const [i, segment] of segments.entries()) {
    const rank = ranks[i] ?? -1
    const postings = segment.fields[field]
    const numbers = numberOf[i]
    if (rank < 0 || !postings || !numbers) continue
    const source = {
      postings,
      numbers,
      at: postings.starts[rank] ?? 0,
      end: postings.starts[rank + 1] ?? 0,
      document: 0,
    }
    if (findNext(source)) sources.push(source)
  }
  while (sources.length > 0) {
    let least = sources[0] ?? neverEmpty()
    for (const source of sources) if (source.document < least.document) least = source
    writer.add(least.document, countAt(least.postings, least.at))
    least.at++
    if (!findNext(least)) sources.splice(sources.indexOf(least), 1)
  }
}

interface Source {
  readonly postings: Postings
  readonly numbers: Int32Array
  readonly end: number
  at: number
  /** The new number of the document at `at`. */
  document: number
}

/** Skips dead documents. Returns false at the end. */
function findNext(source: Source): boolean {
  for (; source.at < source.end; source.at++) {
    source.document = source.numbers[source.postings.documents[source.at] ?? 0] ?? -1
    if (source.document >= 0) return true
  }
  return false
}

function sumOf<T>(items: readonly T[], sizeOfItem: (item: T) => number): number {
  return items.reduce((sum, item) => sum + sizeOfItem(item), 0)
}

function neverEmpty(): never {
  throw new Error('A merge has no source segment')
}

/** Returns the document's number, or -1 if the segment lacks it. */
export function numberIn({ ids }: Segment, id: string): number {
  return Math.max(-1, rankOf(ids, id))
}
