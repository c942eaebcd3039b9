/** Estimates the heap of a search index, and how much of each text is indexed so that it fits. */
import { inSteps, type Steps } from './steps.ts'
import type { Terms } from './terms.ts'

/**
 * Bytes of UTF-8 of each text that are indexed. An organisation uses the first cut with which its index fits its limit, for all
 * its texts. The choice depends on the texts, not on their order of arrival.
 */
export const CUTS = [262_144, 32_768, 4_096, 512, 0] as const

/** Bytes of heap, measured with Node 20: of each document, posting, edge and distinct term, and of a UTF-16 unit of text. */
const OF = { document: 1_000, posting: 36, edge: 800, term: 750, unit: 2 }

/** One of so many terms is counted; the key decides which. */
const SAMPLE = 64

/** What one document takes at each cut but for the terms that it is the first to have. */
interface Share {
  bytes: number[]
  /** Its terms that are counted, each with the number of cuts at which it is still there. */
  sampled: [term: string, cuts: number][]
}

/** The heap of an index at each cut. */
export interface Room {
  key: number
  shares: Map<string, Share>
  /** By cut. */
  bytes: number[]
  /** By cut: the sampled terms, and how many documents have them. */
  terms: Map<string, number>[]
  /** Edges by their holder, and of all. */
  edgesOf: Map<string, number>
  edges: number
}

/** @param key any text that authors of documents do not know */
export function createRoom(key: string): Room {
  const bytes = CUTS.map(() => 0)
  const terms = CUTS.map(() => new Map<string, number>())
  return { key: mixed(key, 0), shares: new Map(), bytes, terms, edgesOf: new Map(), edges: 0 }
}

/** Bytes of heap that the index takes with its texts cut at `CUTS[cut]`; of the terms within some percent. */
export function takenAt({ bytes, terms, edges }: Room, cut: number): number {
  return (bytes[cut] ?? 0) + OF.edge * edges + OF.term * SAMPLE * (terms[cut]?.size ?? 0)
}

/** Bytes of heap that the index takes, of which `numTerms` are the distinct terms. */
export function takenWith({ bytes, edges }: Room, cut: number, numTerms: number): number {
  return (bytes[cut] ?? 0) + OF.edge * edges + OF.term * numTerms
}

/** Sets or removes the share of a document; `ends`: the UTF-16 units of its text at each cut. */
export function* setShare(room: Room, id: string, ends?: readonly number[], terms?: Terms): Steps {
  const old = room.shares.get(id)
  if (old) count(room, old, -1)
  room.shares.delete(id)
  if (!ends || !terms) return
  const share: Share = { bytes: [], sampled: [] }
  const postings = ends.map(() => terms.title.size)
  yield* inSteps(terms.all, ([term, { firstEnd }]) => {
    const beyond = ends.findIndex((end) => firstEnd > end)
    const cuts = beyond < 0 ? ends.length : beyond
    for (let cut = 0; cut < cuts; cut++) postings[cut] = (postings[cut] ?? 0) + 1
    if (mixed(term, room.key) % SAMPLE === 0) share.sampled.push([term, cuts])
  })
  share.bytes = ends.map((end, cut) => OF.document + OF.unit * end + OF.posting * (postings[cut] ?? 0))
  count(room, share, 1)
  room.shares.set(id, share)
}

/** Sets the number of edges of a holder. */
export function setEdgeShare(room: Room, holder: string, edges: number): void {
  room.edges += edges - (room.edgesOf.get(holder) ?? 0)
  if (edges > 0) room.edgesOf.set(holder, edges)
  else room.edgesOf.delete(holder)
}

function count(room: Room, { bytes, sampled }: Share, sign: 1 | -1): void {
  for (const [cut, taken] of bytes.entries()) room.bytes[cut] = (room.bytes[cut] ?? 0) + sign * taken
  for (const [term, cuts] of sampled) {
    for (const terms of room.terms.slice(0, cuts)) {
      const documents = (terms.get(term) ?? 0) + sign
      if (documents > 0) terms.set(term, documents)
      else terms.delete(term)
    }
  }
}

/** 32 bits of which each depends on the text and on the key. Source: MurmurHash3's mixing. */
function mixed(text: string, key: number): number {
  let hash = key
  for (let at = 0; at < text.length; at++) {
    hash ^= Math.imul(text.charCodeAt(at), 0xcc9e2d51)
    hash = Math.imul((hash << 13) | (hash >>> 19), 5) + 0xe6546b64
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** Copies the beginning of `text` with at most `limitBytes` of UTF-8. */
export function beginningOf(text: string, limitBytes: number): string {
  if (3 * text.length <= limitBytes) return text
  const bytes = Buffer.from(text.slice(0, limitBytes))
  return bytes.length <= limitBytes && text.length <= limitBytes ? text : wholeLetters(bytes.subarray(0, limitBytes))
}

/** Decodes the bytes without an incomplete character at their end. */
export function wholeLetters(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true })
}
