/** Builds answers of bounded length, which say which parts they left out. */

import { cleaned, endWithin, newMarks, own } from './quoted.ts'

/** The part of a section that fits, and a note on the rest. */
interface Fitted {
  readonly shown: string
  readonly leftOut?: string
}

/** A part of an answer that holds untrusted text, between marks. */
export interface Section {
  /** Attributes of the opening mark: the service's own words and ids. */
  readonly marks: Readonly<Record<string, string | undefined>>
  /** The largest share of the answer that it takes, 0 to 1. Default: all room left. */
  readonly share?: number
  /** The share of the answer that earlier sections leave to it, 0 to 1. Default: 0. */
  readonly least?: number
  fit(chars: number): Fitted
}

/** Bounds of `max_chars`, in characters, for every answer. */
export const charsOf = { least: 3_000, most: 32_000, default: 12_000 } as const

/** Characters reserved for the note of one section on its rest. */
const leftOutChars = 100

/** Builds an answer of at most `chars` characters. `lead` is the service's own text, of bounded length. */
export function answer(chars: number, lead: readonly string[], sections: readonly Section[] = []): string {
  const marks = newMarks()
  let text = lead.join('\n')
  const kept = ({ least = 0 }: Section) => Math.floor(least * chars)
  let room = chars - text.length - leftOutChars * (sections.length + 1)
  for (const section of sections) room -= kept(section)
  const left: string[] = []
  for (const section of sections) {
    room += kept(section)
    const open = `\n${marks.open(section.marks)}\n`
    const close = `\n${marks.close}`
    const most = Math.min(room, Math.floor((section.share ?? 1) * chars)) - open.length - close.length
    const { shown, leftOut } = section.fit(Math.max(0, most))
    if (shown !== '') {
      const part = open + shown + close
      text += part
      room -= part.length
    }
    if (leftOut !== undefined) left.push(leftOut)
  }
  return left.length === 0 ? text : `${text}\nLeft out: ${left.join(' ')}`
}

/** UTF-16 units read for one part of a text. More than fit, because invisible characters are shortened. */
const nearChars = 262_144

/** Shares of an answer: the most for facts, the least for the text. */
const factsShare = 0.4
const textLeast = 0.35

interface ListOf {
  /** The name of the items, in the plural. */
  readonly of: string
  readonly items: readonly string[]
  /** The number of all items. Default: the number of `items`. */
  readonly total?: number
  /** The index of the first item among all of them. Default: 0. */
  readonly offset?: number
  /** Says how to get the rest, after the first `next` items. */
  readonly rest?: (next: number) => string
  readonly share?: number
}

/** Lists as many whole items as fit, one or more lines each. */
export function list({ of, items, total = items.length, offset = 0, rest, share }: ListOf): Section {
  const fit = (chars: number): Fitted => {
    let shown = ''
    let count = 0
    for (const item of items) {
      const next = shown === '' ? item : `\n${item}`
      if (shown.length + next.length > chars) break
      shown += next
      count++
    }
    const missing = total - offset - count
    if (missing <= 0) return { shown }
    const how = rest === undefined ? 'call again with a larger max_chars' : rest(offset + count)
    return { shown, leftOut: `${own`${missing} of ${total} `}${of}; ${how}.` }
  }
  return { marks: { of }, fit, ...(share === undefined ? {} : { share }) }
}

interface TextOf {
  readonly of: string
  readonly source?: string
  readonly text: string
  /** Characters before the requested part. */
  readonly from: number
}

/** Shows a part of a text. It ends at a paragraph, line or word, if possible. */
export function textPart({ of, source, text, from }: TextOf): Section {
  const fit = (chars: number): Fitted => {
    const whole = text.slice(from, from + nearChars)
    const near = from + whole.length < text.length ? whole.replace(/[\uD800-\uDBFF]$/, '') : whole
    const end = endWithin(near, chars)
    const shown = cleaned(near.slice(0, end))
    const next = from + end
    if (next === text.length) return { shown }
    return {
      shown,
      leftOut: `${text.length - next} of ${text.length} characters of ${of}; call again with from: ${next}.`,
    }
  }
  return { marks: { of, source }, least: textLeast, fit }
}

/** Shows facts on one line: the first of `lines` that fits. */
export function facts(of: string, lines: readonly string[]): Section {
  return {
    marks: { of },
    share: factsShare,
    fit: (chars) => ({ shown: lines.find((line) => line.length <= chars) ?? '' }),
  }
}
