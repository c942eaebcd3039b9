/** Three-way merge of a text, line by line. */

import { diffArrays } from 'diff'

/** Maximum removed plus added lines per side. Comparing takes quadratic time, and blocks the event loop for 0.1 s. */
const mostEdits = 600

/** Lines on which both sides agree, or where only one has changed them. */
export interface Merged {
  readonly text: string
}

/** Lines that both sides have changed in different ways. */
export interface Clash {
  readonly start: string
  readonly theirs: string
  readonly yours: string
}

type Side = 'theirs' | 'yours'

/** A replacement of the base's lines from `from` to before `to`. */
interface Change {
  readonly side: Side
  readonly from: number
  readonly to: number
  readonly lines: readonly string[]
}

/** Merges both versions; undefined if they conflict or differ too much. */
export function merge3(start: string, theirs: string, yours: string): string | undefined {
  const passages = passagesOf(start, theirs, yours)
  const texts = passages?.map((passage) => ('text' in passage ? passage.text : undefined))
  return texts?.includes(undefined) ? undefined : texts?.join('')
}

/**
 * Divides both versions into passages, in order. Undefined if they differ too much. Changes of adjacent lines also clash,
 * as in Git.
 */
export function passagesOf(start: string, theirs: string, yours: string): (Merged | Clash)[] | undefined {
  const lines = linesOf(start)
  const [one, other] = [changesOf('theirs', lines, linesOf(theirs)), changesOf('yours', lines, linesOf(yours))]
  if (one === undefined || other === undefined) return undefined
  const passages: (Merged | Clash)[] = []
  let at = 0
  for (const group of groupsOf([...one, ...other].sort((a, b) => a.from - b.from || a.to - b.to))) {
    const [from, to] = [Math.min(...group.map((one) => one.from)), Math.max(...group.map((one) => one.to))]
    const text = (side: Side) => {
      const changes = group.filter((change) => change.side === side)
      return changes.length === 0 ? undefined : linesWith(changes, lines, from, to)
    }
    const [changed, proposed] = [text('theirs'), text('yours')]
    passages.push({ text: lines.slice(at, from).join('') })
    if (changed === undefined || proposed === undefined || changed === proposed)
      passages.push({ text: changed ?? proposed ?? '' })
    else passages.push({ start: lines.slice(from, to).join(''), theirs: changed, yours: proposed })
    at = to
  }
  return [...passages, { text: lines.slice(at).join('') }]
}

/** Groups changes that overlap or touch. */
function groupsOf(changes: readonly Change[]): Change[][] {
  const groups: Change[][] = []
  let end = -1
  for (const change of changes) {
    if (change.from <= end) groups.at(-1)?.push(change)
    else groups.push([change])
    end = Math.max(end, change.to)
  }
  return groups
}

/** Returns the lines from `from` to before `to` after the changes of one side. */
function linesWith(changes: readonly Change[], lines: readonly string[], from: number, to: number): string {
  let at = from
  const parts: string[] = []
  for (const change of changes) {
    parts.push(...lines.slice(at, change.from), ...change.lines)
    at = change.to
  }
  return [...parts, ...lines.slice(at, to)].join('')
}

/** Splits a text into lines that keep their line end. */
function linesOf(text: string): string[] {
  return text.split(/(?<=\n)/)
}

function changesOf(side: Side, before: string[], after: string[]): Change[] | undefined {
  const parts = diffArrays(before, after, { maxEditLength: mostEdits })
  if (parts === undefined) return undefined
  const changes: Change[] = []
  let at = 0
  let open: Change | undefined
  for (const { value, added, removed } of parts) {
    if (!added && !removed) {
      at += value.length
      open = undefined
      continue
    }
    const from = open?.from ?? at
    if (removed) at += value.length
    const lines = [...(open?.lines ?? []), ...(added ? value : [])]
    if (open) changes.pop()
    open = { side, from, to: at, lines }
    changes.push(open)
  }
  return changes
}
