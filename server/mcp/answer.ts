/** Answers of bounded length, which say what they have left out. */

import { cleaned, endWithin, newMarks, own } from './quoted.ts'

/** What a section can show in so many characters, and what it says of the rest. */
interface Fitted {
  readonly shown: string
  readonly leftOut?: string
}

/** A part of an answer that holds text of others. */
export interface Section {
  /** Attributes of the mark: the service's own words and ids. */
  readonly marks: Readonly<Record<string, string | undefined>>
  /** The most of the answer that it takes, 0 to 1; default: what is left. */
  readonly share?: number
  /** What sections before it leave to it of the answer, 0 to 1; default: nothing. */
  readonly least?: number
  fit(chars: number): Fitted
}

/** Of every answer. */
export const charsOf = { least: 3_000, most: 32_000, default: 12_000 } as const

/** Characters for a sentence on what a section has left out. */
const leftOutChars = 100

/** `lead` is what the service itself says, of bounded length. The answer has at most `chars` characters. */
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

/** How much of a text is looked at for one part of it: what cannot be seen takes no room. */
const nearChars = 262_144

/** Of an answer: the facts about a text, which stand before it. */
const factsShare = 0.4
const textLeast = 0.35

interface ListOf {
  /** What the items are, in the plural. */
  readonly of: string
  readonly items: readonly string[]
  /** How many there are in all; default: as many as `items`. */
  readonly total?: number
  /** Which of them the first item is. Default: 0. */
  readonly offset?: number
  /** How to ask for the rest, where `next` items have been shown. */
  readonly rest?: (next: number) => string
  readonly share?: number
}

/** Items whole, a line or more each, as many as there is room for. */
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
    const how = rest === undefined ? 'ask with a larger max_chars' : rest(offset + count)
    return { shown, leftOut: `${own`${missing} of ${total} `}${of}; ${how}.` }
  }
  return { marks: { of }, fit, ...(share === undefined ? {} : { share }) }
}

interface TextOf {
  readonly of: string
  readonly source?: string
  readonly text: string
  /** Characters before the part that is asked for. */
  readonly from: number
}

/** A part of a text, which ends with a paragraph, a line or a word if it can. */
export function textPart({ of, source, text, from }: TextOf): Section {
  const fit = (chars: number): Fitted => {
    const whole = text.slice(from, from + nearChars)
    const near = from + whole.length < text.length ? whole.replace(/[\uD800-\uDBFF]$/, '') : whole
    const end = endWithin(near, chars)
    const shown = cleaned(near.slice(0, end))
    const next = from + end
    if (next === text.length) return { shown }
    return { shown, leftOut: `${text.length - next} of ${text.length} characters of ${of}; ask with from: ${next}.` }
  }
  return { marks: { of, source }, least: textLeast, fit }
}

/** Facts on one line: the first of these that there is room for. */
export function facts(of: string, lines: readonly string[]): Section {
  return {
    marks: { of },
    share: factsShare,
    fit: (chars) => ({ shown: lines.find((line) => line.length <= chars) ?? '' }),
  }
}
