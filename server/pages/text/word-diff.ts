/** Compares two versions of a text line by line, and by words within changed lines. */

import { diffArrays, diffWordsWithSpace } from 'diff'
import * as limits from '../../base/limits.ts'

export interface Piece {
  readonly text: string
  readonly isChanged: boolean
}

export interface Row {
  readonly kind: 'same' | 'removed' | 'added'
  /** Line number from 1 in the version after; for removed lines, in the version before. */
  readonly line: number
  /** The line number of an unchanged line in the version before. */
  readonly before?: number
  readonly pieces: readonly Piece[]
}

/** Unchanged lines that are folded. `heading` is the last heading among them. */
export interface Fold {
  readonly kind: 'fold'
  /** The first of the lines; in a long text, not all. */
  readonly rows: readonly Row[]
  /** The number of folded lines, including blank ones. */
  readonly lines: number
  /** The number of lines with text that `rows` lacks. */
  readonly more: number
  readonly heading: string
}

export interface WordDiff {
  readonly parts: readonly (Row | Fold)[]
  /** The number of rows, including rows in folds. */
  readonly rows: number
  readonly added: number
  readonly removed: number
}

/**
 * Limits: `line`: UTF-16 units of a line that is compared by words. `context`: unchanged lines around a change. `folded`:
 * rows in all folds.
 */
const most = { line: 8_000, context: 1, folded: 500 } as const
/** Unchanged words between two changes that are joined into one, because people change phrases. */
const joined = 2
/** Share of characters that two lines must have in common to be compared by words. */
const alike = 0.3

/**
 * The remaining budget for comparing all texts of a page. Comparing blocks the event loop. `steps` counts steps of the
 * algorithm: half the square of the number of differences between two lists.
 */
export interface Effort {
  steps: number
}

/** Returns a budget of about 0.1 s. */
export function newEffort(): Effort {
  return { steps: 400_000 }
}

/**
 * Compares two texts; undefined if too much differs to be shown in words.
 *
 * @param isKept true for rows to show even if they are blank or unchanged
 */
export function diffWords(
  before: string,
  after: string,
  effort: Effort = newEffort(),
  isKept: (row: Row) => boolean = () => false,
): WordDiff | undefined {
  const changes = spending(effort, (maxEditLength) => diffArrays(linesOf(before), linesOf(after), { maxEditLength }))
  if (changes === undefined) return undefined
  const rows: Row[] = []
  let [oldLine, newLine] = [1, 1]
  for (let at = 0; at < changes.length; at++) {
    const { value, removed, added } = changes[at] ?? { value: [] }
    if (!removed && !added) {
      for (const text of value) {
        rows.push({ kind: 'same', line: newLine++, before: oldLine++, pieces: [{ text, isChanged: false }] })
      }
      continue
    }
    const other = changes[at + 1]
    const gone = removed ? value : other?.removed ? other.value : []
    const come = added ? value : other?.added ? other.value : []
    if (removed ? other?.added : other?.removed) at++
    rows.push(...changed(gone, come, { oldLine, newLine, effort, isKept }))
    oldLine += gone.length
    newLine += come.length
  }
  const words = (kind: Row['kind']) =>
    rows.filter((row) => row.kind === kind).flatMap(({ pieces }) => pieces.filter(({ isChanged }) => isChanged))
  const parts = folded(
    rows.filter((row) => isTold(row) || isKept(row)),
    { isKept, lines: newLine - 1 },
  )
  return {
    parts,
    rows: parts.reduce((sum, part) => sum + (part.kind === 'fold' ? part.rows.length : 1), 0),
    added: countWords(words('added')),
    removed: countWords(words('removed')),
  }
}

/**
 * Compares within the budget and reduces it. Source: Myers, An O(ND) Difference Algorithm, 1986. Round n visits n + 1
 * diagonals.
 */
function spending<T extends { readonly count: number; readonly added: boolean; readonly removed: boolean }>(
  effort: Effort,
  compare: (maxEditLength: number) => T[] | undefined,
): T[] | undefined {
  const edits = Math.min(limits.wordDiffEdits, Math.floor(Math.sqrt(2 * effort.steps)))
  const changes = edits > 0 ? compare(edits) : undefined
  const made = changes?.reduce((sum, { count, added, removed }) => sum + (added || removed ? count : 0), 0)
  effort.steps -= (made ?? edits) ** 2 / 2
  return changes
}

function linesOf(text: string): string[] {
  const lines = text.split(/\r?\n/)
  if (lines.at(-1) === '') lines.pop()
  return lines
}

/** True if the row is not blank. Blank lines only separate paragraphs and are not shown. */
function isTold({ pieces }: Row): boolean {
  return pieces.some(({ text }) => text.trim() !== '')
}

interface Changing {
  /** Line numbers of the first removed and the first added line. */
  readonly oldLine: number
  readonly newLine: number
  readonly effort: Effort
  readonly isKept: (row: Row) => boolean
}

/** Pairs removed lines with added lines, and compares similar pairs by words. */
function changed(
  gone: readonly string[],
  come: readonly string[],
  { oldLine, newLine, effort, isKept }: Changing,
): Row[] {
  const rows: Row[] = []
  const told = (kind: Row['kind'], first: number, texts: readonly string[]) =>
    texts
      .map((text, at) => ({ text, at }))
      .filter(({ text, at }) => text.trim() !== '' || isKept({ kind, line: first + at, pieces: [] }))
  const lines = told('removed', oldLine, gone)
  const others = told('added', newLine, come)
  for (let at = 0; at < Math.max(lines.length, others.length); at++) {
    const [one, other] = [lines[at], others[at]]
    const pieces = one && other && within(one.text, other.text, effort)
    if (one) rows.push({ kind: 'removed', line: oldLine + one.at, pieces: pieces?.before ?? [whole(one.text)] })
    if (other) rows.push({ kind: 'added', line: newLine + other.at, pieces: pieces?.after ?? [whole(other.text)] })
  }
  return rows
}

function whole(text: string): Piece {
  return { text, isChanged: true }
}

/** Compares two lines by words. Undefined if they differ too much, or the budget is used up. */
function within(before: string, after: string, effort: Effort): { before: Piece[]; after: Piece[] } | undefined {
  if (before.length > most.line || after.length > most.line) return undefined
  const changes = spending(effort, (maxEditLength) => diffWordsWithSpace(before, after, { maxEditLength }))
  if (changes === undefined) return undefined
  const same = changes
    .filter(({ added, removed }) => !added && !removed)
    .reduce((sum, { value }) => sum + value.trim().length, 0)
  if (same < alike * Math.max(before.trim().length, after.trim().length)) return undefined
  const pieces: { before: Piece[]; after: Piece[] } = { before: [], after: [] }
  for (const [at, { value, added, removed }] of changes.entries()) {
    const isShort = at > 0 && at < changes.length - 1 && wordsIn(value) <= joined
    const isChanged = added || removed || isShort
    if (!added) push(pieces.before, value, isChanged)
    if (!removed) push(pieces.after, value, isChanged)
  }
  return pieces
}

function push(pieces: Piece[], text: string, isChanged: boolean): void {
  const last = pieces.at(-1)
  if (last?.isChanged === isChanged) pieces[pieces.length - 1] = { text: last.text + text, isChanged }
  else pieces.push({ text, isChanged })
}

function wordsIn(text: string): number {
  return text.match(/[\p{L}\p{N}]+/gu)?.length ?? 0
}

function countWords(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, { text }) => sum + wordsIn(text), 0)
}

interface Folding {
  readonly isKept: (row: Row) => boolean
  /** The number of lines of the new version. */
  readonly lines: number
}

/** Folds unchanged lines that are not next to a change. */
function folded(rows: readonly Row[], { isKept, lines }: Folding): (Row | Fold)[] {
  const isFoldable = (row: Row | undefined) => row?.kind === 'same' && !isKept(row)
  const parts: (Row | Fold)[] = []
  let from = 0
  let left: number = most.folded
  while (from < rows.length) {
    const row = rows[from]
    if (!isFoldable(row)) {
      if (row) parts.push(row)
      from++
      continue
    }
    let to = from + 1
    while (isFoldable(rows[to])) to++
    const start = from === 0 ? from : from + most.context
    const end = to === rows.length ? to : to - most.context
    if (end - start < 2) parts.push(...rows.slice(from, to))
    else {
      const hidden = rows.slice(start, end)
      const shown = hidden.slice(0, left)
      left -= shown.length
      parts.push(
        ...rows.slice(from, start),
        {
          ...{ kind: 'fold', rows: shown, more: hidden.length - shown.length },
          // Blank lines have no rows, and are hidden also where they begin or end the part.
          ...{ lines: (rows[end]?.line ?? lines + 1) - (rows[start - 1]?.line ?? 0) - 1, heading: headingIn(hidden) },
        },
        ...rows.slice(end, to),
      )
    }
    from = to
  }
  return parts
}

function headingIn(rows: readonly Row[]): string {
  const heading = rows.findLast(({ pieces }) => /^#{1,6} /.test(pieces[0]?.text ?? ''))
  return heading?.pieces[0]?.text.replace(/^#+ /, '') ?? ''
}
