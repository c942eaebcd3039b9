/** Builds answers of bounded length, which say which parts they left out. */

import { cleaned, endWithin, type Marks, newMarks, own } from './quoted.ts'

/** The part of a section that fits, and a note on the rest. */
interface Fitted {
  readonly shown: string
  readonly leftOut?: string
}

/** A part of an answer that holds untrusted text, between marks. */
export interface Section {
  /** The largest share of the answer that it takes, 0 to 1. Default: all room left. */
  readonly share?: number
  /** The share of the answer that earlier sections leave to it, 0 to 1. Default: 0. */
  readonly least?: number
  /** Writes what fits in `chars` characters, with the marks. */
  write(chars: number, marks: Marks): Fitted
}

/** The attributes of an opening mark: the service's own words and ids. */
type Attributes = Parameters<Marks['open']>[0]

function inMarks(attributes: Attributes, text: string, { open, close }: Marks): string {
  return `\n${open(attributes)}\n${text}\n${close}`
}

/** Writes one part between marks; nothing if it is empty. */
function part(attributes: Attributes, show: (chars: number) => Fitted): Section['write'] {
  return (chars, marks) => {
    const { shown, ...rest } = show(Math.max(0, chars - inMarks(attributes, '', marks).length))
    return { shown: shown === '' ? '' : inMarks(attributes, shown, marks), ...rest }
  }
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
    const most = Math.min(room, Math.floor((section.share ?? 1) * chars))
    const { shown, leftOut } = section.write(Math.max(0, most), marks)
    text += shown
    room -= shown.length
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
  return { write: part({ of }, fit), ...(share === undefined ? {} : { share }) }
}

/** An item between marks that name it, such as `comment 12`. */
export interface Named {
  readonly of: string
  /** The item on one line, then shorter forms of it. */
  readonly lines: readonly [string, ...string[]]
}

interface EachOf {
  /** Says how to get the items after the first `shown`. Undefined: there are none. */
  readonly rest: (shown: number) => string | undefined
  readonly share?: number
  readonly least?: number
}

/** Shows as many items as fit, each between its own marks. Only the first one may be in a shorter form. */
export function each(items: readonly Named[], { rest, ...shares }: EachOf): Section {
  const write = (chars: number, marks: Marks): Fitted => {
    let shown = ''
    let count = 0
    for (const { of, lines } of items) {
      const forms = (count === 0 ? lines : lines.slice(0, 1)).map((line) => inMarks({ of }, line, marks))
      const next = forms.find((form) => shown.length + form.length <= chars)
      if (next === undefined) break
      shown += next
      count++
    }
    const leftOut = rest(count)
    return { shown, ...(leftOut !== undefined && { leftOut }) }
  }
  return { write, ...shares }
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
  return { write: part({ of, source }, fit), least: textLeast }
}

/** Shows facts on one line: the first of `lines` that fits. */
export function facts(of: string, lines: readonly string[]): Section {
  const fit = (chars: number) => ({ shown: lines.find((line) => line.length <= chars) ?? '' })
  return { write: part({ of }, fit), share: factsShare }
}
