/** Two changed versions of a text in one, line by line. */

import { diffArrays } from 'diff'

/** Lines that may differ in each before it is left to a person: comparing both, in one turn, takes the square of that, 0.1 s. */
const mostEdits = 600

/** Lines of the text where both began, from the first to before the last, became others. */
interface Change {
  readonly from: number
  readonly to: number
  readonly lines: readonly string[]
}

/** Undefined where both changed the same lines, or neighbours, in other ways; or too much. */
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

/** Each with its end. */
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
