/** Three-way merge of a text, line by line. */

import { diffArrays } from 'diff'

/** Maximum removed plus added lines per side. Comparing takes quadratic time, and blocks the event loop for 0.1 s. */
const mostEdits = 600

/** A replacement of the base's lines from `from` to before `to`. */
interface Change {
  readonly from: number
  readonly to: number
  readonly lines: readonly string[]
}

/** Merges both versions; undefined if they conflict or differ too much. Changes of adjacent lines also conflict. */
export function merge3(start: string, theirs: string, yours: string): string | undefined {
  const lines = linesOf(start)
  const [one, other] = [changesOf(lines, linesOf(theirs)), changesOf(lines, linesOf(yours))]
  if (one === undefined || other === undefined) return undefined
  const merged: string[] = []
  let last: Change | undefined
  for (const change of [...one, ...other].sort((a, b) => a.from - b.from || a.to - b.to)) {
    if (last !== undefined && change.from <= last.to) {
      if (!isSame(change, last)) return undefined
      continue
    }
    merged.push(lines.slice(last?.to ?? 0, change.from).join(''), change.lines.join(''))
    last = change
  }
  return [...merged, lines.slice(last?.to ?? 0).join('')].join('')
}

/** Splits a text into lines that keep their line end. */
function linesOf(text: string): string[] {
  return text.split(/(?<=\n)/)
}

function changesOf(before: string[], after: string[]): Change[] | undefined {
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
    open = { from, to: at, lines }
    changes.push(open)
  }
  return changes
}

function isSame(a: Change, b: Change): boolean {
  return a.from === b.from && a.to === b.to && a.lines.join('') === b.lines.join('')
}
