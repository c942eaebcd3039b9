/** Detects renames as Git does: matches new files to missing ones by their texts. */
import { createHash } from 'node:crypto'
import { posix } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import * as limits from '../../../base/limits.ts'
import type { PathProblem } from '../../../domain/format/path-problem.ts'

export interface Candidate {
  readonly path: string
  /** The text; '' if the file has no content to compare. */
  readonly text: string
}

export interface Renames {
  /** The missing paths, by the new ones. */
  readonly from: ReadonlyMap<string, string>
  /** New and missing paths with more than one possible match. */
  readonly ambiguous: ReadonlySet<string>
  readonly problems: readonly PathProblem[]
}

/** Least similarity of a rename, as in `git diff -M`. */
const leastSimilarity = 0.5
/** Milliseconds between two turns of the event loop. */
const turnMs = 20

type Candidates = AsyncIterable<Candidate> | Iterable<Candidate>

/** Pairs files with the same text. First those with the same name, then the only one on each side. */
export async function sameTexts(gone: Candidates, fresh: Candidates): Promise<Renames> {
  const byText = new Map<string, { gone: string[]; fresh: string[] }>()
  for await (const { path, text } of gone) if (text !== '') groupOf(text).gone.push(path)
  for await (const { path, text } of fresh) if (text !== '') groupOf(text).fresh.push(path)
  const found = started()
  for (const group of byText.values()) pairUp(group.gone, group.fresh, found)
  return found

  function groupOf(text: string) {
    const digest = createHash('sha256').update(text).digest('base64')
    const group = byText.get(digest) ?? { gone: [], fresh: [] }
    byText.set(digest, group)
    return group
  }
}

/** Pairs files by their names only. */
export function sameNames(gone: readonly string[], fresh: readonly string[]): Renames {
  const found = started()
  pairNamesakes(gone, fresh, found)
  return found
}

/**
 * Pairs similar files, the most similar first.
 *
 * Among equally similar files, those with the same name are paired, and the rest are ambiguous. Beyond the limit only
 * files with the same name are compared, and a problem reports this.
 */
export async function similarTexts(gone: Candidates, fresh: Candidates): Promise<Renames> {
  const [old, added] = [await fingerprintsOf(gone), await fingerprintsOf(fresh)]
  const found = started()
  const isLimited = old.length * added.length > limits.importPairs
  if (isLimited) {
    const reason = `${old.length} files are gone and ${added.length} are new, too many to compare all of them. Only files with the same name were compared`
    found.problems.push({ path: '.', reason })
  }
  const namesakes = isLimited ? groupedBy(old, nameOf) : undefined
  const pairs: Pair[] = []
  let turn = performance.now()
  for (const one of added)
    for (const other of namesakes ? (namesakes.get(nameOf(one)) ?? []) : old) {
      const score = similarity(other.fingerprint, one.fingerprint, leastSimilarity)
      const isNamesake = nameOf(other) === nameOf(one)
      if (score >= leastSimilarity) pairs.push({ gone: other.path, fresh: one.path, score, isNamesake })
      if (performance.now() - turn < turnMs) continue
      await nextTurn()
      turn = performance.now()
    }
  pairs.sort((a, b) => b.score - a.score || Number(b.isNamesake) - Number(a.isNamesake))
  for (let at = 0; at < pairs.length; ) {
    const first = pairs[at]
    const equals: Pair[] = []
    for (; pairs[at] && pairs[at]?.score === first?.score && pairs[at]?.isNamesake === first?.isNamesake; at++)
      equals.push(pairs[at] as Pair) // it is there
    takeBest(equals, found)
  }
  return found
}

interface Pair {
  readonly gone: string
  readonly fresh: string
  readonly score: number
  readonly isNamesake: boolean
}

/** Takes each of several equally good pairs whose files are in no other pair. */
function takeBest(equals: readonly Pair[], found: Found): void {
  const open = equals.filter(({ gone, fresh }) => !found.taken.has(gone) && !found.taken.has(fresh))
  const byGone = groupedBy(open, ({ gone }) => gone)
  const byFresh = groupedBy(open, ({ fresh }) => fresh)
  for (const { gone, fresh } of open) {
    const others = byFresh.get(fresh) ?? []
    if (others.length === 1 && byGone.get(gone)?.length === 1) found.pair(gone, fresh)
    else if (!found.taken.has(fresh))
      found.doubt(
        [fresh],
        others.map((pair) => pair.gone),
      )
  }
}

interface Found extends Renames {
  readonly from: Map<string, string>
  readonly problems: PathProblem[]
  /** Paths that are paired or ambiguous. */
  readonly taken: ReadonlySet<string>
  pair(gone: string, fresh: string): void
  doubt(fresh: readonly string[], gone: readonly string[]): void
}

function started(): Found {
  const [taken, ambiguous] = [new Set<string>(), new Set<string>()]
  const from = new Map<string, string>()
  const problems: PathProblem[] = []
  return { from, problems, ambiguous, taken, pair, doubt }

  function pair(gone: string, fresh: string): void {
    from.set(fresh, gone)
    taken.add(gone).add(fresh)
  }

  function doubt(fresh: readonly string[], gone: readonly string[]): void {
    const reason = `treated as new: it might be any of ${shortList(gone)}`
    const rivals = fresh.length > 1 ? `, and so might other new files (${fresh.length - 1})` : ''
    for (const path of fresh) problems.push({ path, reason: reason + rivals })
    for (const path of [...fresh, ...gone]) {
      taken.add(path)
      ambiguous.add(path)
    }
  }
}

function shortList(paths: readonly string[]): string {
  const more = paths.length - listedAtMost
  return paths.slice(0, listedAtMost).join(', ') + (more > 0 ? ` and ${more} more` : '')
}

const listedAtMost = 3

function pairUp(gone: readonly string[], fresh: readonly string[], found: Found): void {
  pairNamesakes(gone, fresh, found)
  const [old, added] = [gone, fresh].map((paths) => paths.filter((path) => !found.taken.has(path)))
  const [from, to] = [old?.[0], added?.[0]]
  if (from === undefined || to === undefined || !old || !added) return
  if (old.length === 1 && added.length === 1) found.pair(from, to)
  else found.doubt(added, old)
}

/** Pairs files that are the only ones with their name on both sides. */
function pairNamesakes(gone: readonly string[], fresh: readonly string[], found: Found): void {
  const byName = groupedBy(gone, (path) => posix.basename(path))
  for (const [name, [path, ...others]] of groupedBy(fresh, (path) => posix.basename(path))) {
    const [old, ...more] = byName.get(name) ?? []
    if (path !== undefined && old !== undefined && others.length + more.length === 0) found.pair(old, path)
  }
}

interface Printed {
  readonly path: string
  readonly fingerprint: Fingerprint
}

async function fingerprintsOf(candidates: Candidates): Promise<Printed[]> {
  const printed: Printed[] = []
  for await (const { path, text } of candidates)
    if (text !== '') printed.push({ path, fingerprint: fingerprintOf(text) })
  return printed
}

function groupedBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const group = groups.get(keyOf(item))
    if (group) group.push(item)
    else groups.set(keyOf(item), [item])
  }
  return groups
}

function nameOf({ path }: { readonly path: string }): string {
  return posix.basename(path)
}

/** The bytes of each piece of a text, by the hash of the piece. Git compares texts for renames this way. */
export interface Fingerprint {
  readonly bytes: number
  readonly pieces: ReadonlyMap<number, number>
}

/** Largest piece in UTF-8 bytes; a line end also ends a piece. Source: hash_chars, diffcore-delta.c. */
const pieceBytes = 64

/** Computes a fingerprint in linear time. Ignores a CR before LF, as Git does in texts. */
export function fingerprintOf(text: string): Fingerprint {
  const bytes = Buffer.from(text)
  const pieces = new Map<number, number>()
  let [hash, length] = [offsetBasis, 0]
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    if (byte === carriageReturn && bytes[at + 1] === lineFeed) continue
    hash = Math.imul(hash ^ byte, prime)
    length++
    if (byte !== lineFeed && length < pieceBytes && at < bytes.length - 1) continue
    pieces.set(hash, (pieces.get(hash) ?? 0) + length)
    ;[hash, length] = [offsetBasis, 0]
  }
  return { bytes: bytes.length, pieces }
}

const carriageReturn = 13
const lineFeed = 10
/** Constants of the FNV-1a hash. */
const offsetBasis = 0x811c9dc5
const prime = 0x01000193

/**
 * Returns the share of the larger text that the smaller one also has.
 *
 * It is from 0 to 1. Returns 0 if the sizes already show that it is below `least`. Source: estimate_similarity,
 * diffcore-rename.c.
 */
export function similarity(one: Fingerprint, other: Fingerprint, least: number): number {
  const larger = Math.max(one.bytes, other.bytes)
  if (larger === 0 || Math.min(one.bytes, other.bytes) < larger * least) return 0
  const [few, many] = one.pieces.size < other.pieces.size ? [one, other] : [other, one]
  let shared = 0
  for (const [hash, bytes] of few.pieces) shared += Math.min(bytes, many.pieces.get(hash) ?? 0)
  return shared / larger
}
