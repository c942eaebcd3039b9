/**
 * The values that filters compare and lists sort by. The kind follows only from the value, so no schema
 * changes the result of a query.
 */

import { foldCase } from '../fold-case.ts'
import * as limits from '../limits.ts'

/** The kinds in the order in which lists sort them. Objects have no order and are equal to no value. */
export const KIND = { boolean: 1, number: 2, date: 3, text: 4, object: 5 } as const

export type Kind = (typeof KIND)[keyof typeof KIND]

/** One element of a property. */
export interface Value {
  readonly kind: Kind
  /** A number, the milliseconds of a date, or 0 or 1 for a boolean. 0 for other kinds. */
  readonly order: number
  /** The counted part of a date or text, in NFC. A longer text has `cutMark` at its end. Empty for other kinds. */
  readonly text: string
  /** The text without case, where a column has it. */
  readonly folded?: string
}

/** Ends a text of which only the beginning counts, so that it equals no operand. */
const cutMark = '\0'

/** Returns a text with an ellipsis for the part that does not count. */
export function shownText(text: string): string {
  return text.endsWith(cutMark) && text.length > limits.countedCharacters ? `${text.slice(0, -1)}…` : text
}

const dayMs = 86_400_000
/** Characters of the longest date. */
const longestDate = '2026-12-01T10:00:00.123456789+01:00'.length
const instantForm =
  /^(\d{4})-(\d\d)-(\d\d)(?:[Tt](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?(?:([Zz])|([+-])(\d\d):(\d\d))?)?)?$/

/**
 * Returns the values of a property. Lists count by their elements. Null, and a list without elements, have none.
 *
 * @param json as JSON.parse returns it
 */
export function valuesOf(json: unknown): Value[] {
  if (json === null || json === undefined) return []
  if (Array.isArray(json)) return json.flatMap(valuesOf)
  return [scalarOf(json) ?? { kind: KIND.object, order: 0, text: '' }]
}

/** Returns a bit for each kind of the values of a property: `1 << kind`. */
export function kindsOf(json: unknown): number {
  if (json === null || json === undefined) return 0
  if (typeof json === 'string') return 1 << (isDate(json) ? KIND.date : KIND.text)
  if (typeof json === 'number') return 1 << KIND.number
  if (typeof json === 'boolean') return 1 << KIND.boolean
  if (!Array.isArray(json)) return 1 << KIND.object
  return json.reduce((kinds: number, one: unknown) => kinds | kindsOf(one), 0)
}

function isDate(text: string): boolean {
  return text.length <= longestDate && instantOf(text) !== undefined
}

/** Returns the values at a path of names. A list on the way counts by its elements. */
export function valuesAt(json: unknown, [name, ...further]: readonly string[]): Value[] {
  if (name === undefined) return valuesOf(json)
  if (Array.isArray(json)) return json.flatMap((element) => valuesAt(element, [name, ...further]))
  if (typeof json !== 'object' || json === null || !Object.hasOwn(json, name)) return []
  return valuesAt((json as Record<string, unknown>)[name], further)
}

/** Returns the value of a boolean, number or text. Undefined for other JSON. */
export function scalarOf(json: unknown): Value | undefined {
  if (typeof json === 'boolean') return { kind: KIND.boolean, order: Number(json), text: '' }
  if (typeof json === 'number') return { kind: KIND.number, order: json === 0 ? 0 : json, text: '' }
  return typeof json === 'string' ? textValue(json) : undefined
}

/** Returns a date, or a text. */
export function textValue(json: string): Value {
  const text = countedPart(json)
  const instant = text.length > longestDate ? undefined : instantOf(text)
  return instant === undefined ? { kind: KIND.text, order: 0, text } : { kind: KIND.date, order: instant, text }
}

/** Texts of these characters are in Unicode's form C. */
const ascii = /^[\0-\x7f]*$/

/** Cuts before it normalises, because normalising a long text takes long. */
function countedPart(json: string): string {
  if (json.length <= limits.countedCharacters && ascii.test(json)) return json
  const cut = firstCharacters(json, limits.countedCharacters)
  const text = Buffer.from(cut).toString().normalize('NFC')
  return cut === json ? text : text + cutMark
}

function firstCharacters(text: string, count: number): string {
  if (text.length <= count) return text
  let end = 0
  for (let n = 0; n < count && end < text.length; n++) end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1
  return text.slice(0, end)
}

/**
 * Returns the milliseconds since 1970 of a date. Undefined for other texts, and for days that do not exist. Forms:
 * `YYYY-MM-DD`, `YYYY-MM-DDThh:mm[:ss]` in UTC, and RFC 3339 with an offset.
 */
function instantOf(text: string): number | undefined {
  const parts = instantForm.exec(text)
  if (parts === null) return undefined
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts
    .slice(1, 7)
    .map((part) => Number(part ?? 0))
  const [fraction = '0', , sign, offsetHour = '0', offsetMinute = '0'] = parts.slice(7)
  const start = new Date(0)
  start.setUTCFullYear(year, month - 1, day)
  if (start.getUTCMonth() !== month - 1 || start.getUTCDate() !== day) return undefined
  if (hour > 23 || minute > 59 || second > 59 || Number(offsetHour) > 23 || Number(offsetMinute) > 59) return undefined
  const offset = (Number(offsetHour) * 60 + Number(offsetMinute)) * (sign === '-' ? -1 : 1)
  return start.getTime() + (hour * 60 + minute - offset) * 60_000 + second * 1_000 + Number(`0.${fraction}`) * 1_000
}

/** Returns the milliseconds that a date spans: a whole day, or no time. */
export function spanOf({ text }: Value): number {
  return text.length === 'YYYY-MM-DD'.length ? dayMs : 0
}

/** Compares texts by code points. */
export function comparePoints(one: string, other: string): number {
  if (one === other) return 0
  const length = Math.min(one.length, other.length)
  for (let n = 0; n < length; n++) {
    const [a, b] = [one.charCodeAt(n), other.charCodeAt(n)]
    if (a !== b) return rankOfUnit(a) - rankOfUnit(b)
  }
  return one.length - other.length
}

/** Surrogates are the first code units, but stand for the last code points. */
function rankOfUnit(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10_000 : unit
}

/** Compares two values as lists sort them: by kind, then by value, texts without case. 0 if they sort alike. */
export function compareValues(one: Value, other: Value): number {
  if (one.kind !== other.kind) return one.kind - other.kind
  if (one.kind === KIND.text) return comparePoints(foldCase(one.text), foldCase(other.text))
  return one.order < other.order ? -1 : one.order > other.order ? 1 : 0
}
