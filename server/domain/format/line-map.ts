/**
 * Maps the lines of a text to a later version of it.
 *
 * A line ends with LF, as Git counts lines. A CR before the LF is not part of the line. Texts that differ only in their
 * line ends have the same lines, as on pages. CR on its own, form feed and U+2028 are ordinary characters. The
 * last line may lack its LF, and an empty text has no lines. Numbers here begin at 0, and ranges exclude their end.
 */

import { diffArrays } from 'diff'

/** The most lines added and removed between the first and the last that differ. Finding 600 takes about 20 ms. */
const maxEdits = 600

/** Lines of one version. */
export interface LineRange {
  readonly from: number
  readonly to: number
}

/** Lines that were replaced. Either range may be empty. */
interface Hunk {
  readonly old: LineRange
  readonly new: LineRange
}

export interface LineMap {
  /** In order. Unchanged lines are between any two of them. */
  readonly hunks: readonly Hunk[]
  /** True if too much differs. Then there is one hunk, from the first line that differs to the last. */
  readonly isRough: boolean
}

export function linesOf(text: string): string[] {
  const lines = text.split(/\r?\n/)
  if (lines.at(-1) === '') lines.pop()
  return lines
}

/** Compares two versions by a longest common subsequence of their lines. */
export function mapLines(before: readonly string[], after: readonly string[]): LineMap {
  const shorter = Math.min(before.length, after.length)
  let start = 0
  while (start < shorter && before[start] === after[start]) start++
  let end = 0
  while (end < shorter - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end++
  const rest: Hunk = { old: { from: start, to: before.length - end }, new: { from: start, to: after.length - end } }
  if (isEmpty(rest.old) && isEmpty(rest.new)) return { hunks: [], isRough: false }
  if (isEmpty(rest.old) || isEmpty(rest.new)) return { hunks: [rest], isRough: false }
  const [olds, news] = numbered(before.slice(start, rest.old.to), after.slice(start, rest.new.to))
  const changes = diffArrays(olds, news, { maxEditLength: maxEdits })
  return changes ? { hunks: hunksOf(changes, start), isRough: false } : { hunks: [rest], isRough: true }
}

/** Replaces equal lines by equal numbers, which are compared faster. */
function numbered(before: readonly string[], after: readonly string[]): [number[], number[]] {
  const numbers = new Map<string, number>()
  const numberOf = (line: string) => {
    const known = numbers.get(line)
    if (known !== undefined) return known
    numbers.set(line, numbers.size)
    return numbers.size - 1
  }
  return [before.map(numberOf), after.map(numberOf)]
}

interface Change {
  readonly count: number
  readonly added: boolean
  readonly removed: boolean
}

function hunksOf(changes: readonly Change[], start: number): Hunk[] {
  const hunks: { old: { from: number; to: number }; new: { from: number; to: number } }[] = []
  let [oldAt, newAt] = [start, start]
  let isOpen = false
  for (const { count, added, removed } of changes) {
    if (!added && !removed) {
      oldAt += count
      newAt += count
      isOpen = false
      continue
    }
    if (!isOpen) hunks.push({ old: { from: oldAt, to: oldAt }, new: { from: newAt, to: newAt } })
    isOpen = true
    if (removed) oldAt += count
    else newAt += count
    const hunk = hunks.at(-1)
    if (hunk) {
      hunk.old.to = oldAt
      hunk.new.to = newAt
    }
  }
  return hunks
}

function isEmpty({ from, to }: LineRange): boolean {
  return from === to
}

/** The same lines in the later version. Undefined if a hunk is within them. */
export function shiftLines({ hunks }: LineMap, range: LineRange): LineRange | undefined {
  let moved = 0
  for (const hunk of hunks) {
    if (isWithin(hunk, range)) return undefined
    if (hunk.old.from >= range.to) break
    moved = hunk.new.to - hunk.old.to
  }
  return { from: range.from + moved, to: range.to + moved }
}

/** True if the hunk replaces a line of the range, or inserts between two lines. */
function isWithin({ old }: Hunk, { from, to }: LineRange): boolean {
  return old.from < to && old.to > from
}

/**
 * The lines of both versions that take in the range and all hunks within it. The range has such a hunk.
 *
 * @param joins true if lines between two hunks do not separate them. Then the other hunk is taken in as well
 */
export function replacedLines(
  { hunks }: LineMap,
  range: LineRange,
  joins: (lines: LineRange) => boolean = () => false,
): { before: LineRange; after: LineRange } {
  let at = hunks.findIndex((hunk) => isWithin(hunk, range))
  let end = hunks.findLastIndex((hunk) => isWithin(hunk, range))
  const areJoined = (one: Hunk | undefined, other: Hunk | undefined) =>
    one !== undefined && other !== undefined && joins({ from: one.old.to, to: other.old.from })
  while (areJoined(hunks[at - 1], hunks[at])) at--
  while (areJoined(hunks[end], hunks[end + 1])) end++
  const [first, last] = [hunks[at], hunks[end]]
  if (!first || !last) throw new RangeError('No hunk is within the lines')
  const [above, below] = [Math.max(0, first.old.from - range.from), Math.max(0, range.to - last.old.to)]
  return {
    before: { from: first.old.from - above, to: last.old.to + below },
    after: { from: first.new.from - above, to: last.new.to + below },
  }
}
