/**
 * JSON as text: its fields, its losses when parsed, and its syntax errors. Only some messages of JSON.parse name the
 * place of an error, and others quote the text.
 */

import { excerpt } from '../../base/excerpt.ts'
import * as limits from '../../base/limits.ts'

/** Parses JSON; undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** True if parsed JSON is an object, not an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A field of the outermost object, with the range of its value. `start` is the start of its name. */
export interface Member {
  readonly name: string
  readonly start: number
  readonly from: number
  readonly to: number
}

/** An open object, with the names seen so far, or an open array. */
interface Frame {
  readonly names: Set<string> | undefined
  /** The name of the current field, or the index of the current item. */
  at: string | number
}

/** The fields of the object in `text`, in order and with duplicates. */
export function membersOf(text: string): Member[] {
  const members: Member[] = []
  let name: Token | undefined
  let from: number | undefined
  let depth = 0
  for (const token of tokensOf(text)) {
    if (token.kind === '}' || token.kind === ']') depth--
    if (depth === 1 && name === undefined && token.kind === 'text') name = token
    else if (depth === 1 && name && from === undefined && token.kind !== ':') from = token.start
    if (token.kind === '{' || token.kind === '[') depth++
    if (depth === 1 && name && from !== undefined) {
      members.push({ name: JSON.parse(text.slice(name.start, name.end)), start: name.start, from, to: token.end })
      name = undefined
      from = undefined
    }
  }
  return members
}

/** Sentences about what parsing `text` would lose: duplicate names, and numbers that change. At most `most`. */
export function lossesOf(text: string, most: number): string[] {
  const losses: string[] = []
  for (const loss of eachLoss(text)) {
    if (loss === undefined) continue
    losses.push(loss.reason)
    if (losses.length >= most) break
  }
  return losses
}

interface Loss {
  readonly reason: string
  /** The names and indexes on the way there, from the outermost. */
  readonly steps: readonly (string | number)[]
}

/** Tokens between two turns of the event loop: 1 ms. */
const tokensAtOnce = 5_000

/** Yields the losses one by one. Yields undefined when the caller should yield to the event loop. */
export function* eachLoss(text: string): Generator<Loss | undefined> {
  const frames: Frame[] = []
  let isName = false
  let tokens = 0
  const loss = (reasonAt: (place: string) => string): Loss => {
    const steps = frames.map(({ at }) => at)
    return { reason: reasonAt(placeOf(steps)), steps }
  }
  for (const { kind, start, end } of tokensOf(text)) {
    const frame = frames.at(-1)
    if (kind === '{' || kind === '[')
      frames.push({ names: kind === '{' ? new Set() : undefined, at: kind === '{' ? '' : 0 })
    else if (kind === '}' || kind === ']') frames.pop()
    else if (kind === ',' && typeof frame?.at === 'number') frame.at++
    else if (kind === 'text' && isName && frame?.names) {
      frame.at = JSON.parse(text.slice(start, end)) as string // a token of kind text is a string
      if (frame.names.has(frame.at)) yield loss((place) => `The field ${place} appears twice`)
      frame.names.add(frame.at)
    } else if (kind === 'number' && !isKept(text.slice(start, end)))
      yield loss((place) => {
        const written = excerpt(text.slice(start, end))
        return `JSON cannot store the number ${written} at ${place} exactly; write it as a string`
      })
    isName = kind === '{' || (kind === ',' && frame?.names !== undefined)
    if (++tokens % tokensAtOnce === 0) yield undefined
  }
}

/** A place in JSON for a message, such as `nodes[3].parents[0]`. */
function placeOf(steps: readonly (string | number)[]): string {
  const path = steps.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`)).join('')
  return excerpt(path.replace(/^\./, ''))
}

/** Two items of a list in the body, for a message. @param list the `loc` of the list, which begins with `body` */
export function placesOf(list: readonly (string | number)[], one: number, other: number): string {
  const [, ...steps] = list
  return `${placeOf([...steps, one])} and ${placeOf([...steps, other])}`
}

/** True if the number survives parsing. It must not become infinite or 0, and integers must keep all digits. */
function isKept(written: string): boolean {
  const value = Number(written)
  if (!Number.isFinite(value)) return false
  if (value === 0) return !/^[^eE]*[1-9]/.test(written)
  return Math.abs(value) <= Number.MAX_SAFE_INTEGER || decimal(written) === decimal(String(value))
}

/** The canonical spelling of a number: its digits without outer zeros, and an exponent. */
function decimal(written: string): string {
  const [mantissa = '', exponent = '0'] = written.toLowerCase().replace('-', '').split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  const digits = (whole + fraction).replace(/^0+/, '')
  let end = digits.length
  while (digits[end - 1] === '0') end--
  return `${digits.slice(0, end)}e${Number(exponent) - fraction.length + digits.length - end}`
}

export interface Place {
  /** Counted from 1. Lines end with LF. */
  readonly line: number
  /** UTF-16 units, counted from 1. */
  readonly column: number
}

/** The most UTF-16 units that are searched. This takes less time than to parse the largest body of a request. */
const mostUnits = 1_048_576

/** The first units of the tokens that may follow. */
const valueStart = '"{[-0123456789tfn'
const nameStart = '"'
const noMore = ''

/**
 * Finds the first unit that breaks the syntax of JSON. If more has to follow, it is the one after the last unit.
 *
 * @returns undefined if it is JSON, or if the error is beyond `mostUnits` or `limits.jsonLevels`
 */
export function findFault(json: string): Place | undefined {
  const text = json.slice(0, mostUnits)
  const at = endOfJson(text)
  return at === undefined || (at === text.length && text.length < json.length)
    ? undefined
    : placeAfter(text.slice(0, at))
}

/** The index of the error; undefined if `text` is JSON or is nested too deep. */
function endOfJson(text: string): number | undefined {
  const open: ('{' | '[')[] = []
  const afterValue = () => (open.length === 0 ? noMore : open.at(-1) === '{' ? ',}' : ',]')
  let next = valueStart
  let at = 0
  for (;;) {
    const token = tokenAfter(text, at, readString)
    if (token === undefined) return next === noMore ? undefined : text.length
    const { kind, start, end, isWhole } = token
    if (!next.includes(text[start] ?? '')) return start
    if (!isWhole) return end
    at = end
    if (kind === '{' || kind === '[') {
      if (open.push(kind) > limits.jsonLevels) return undefined
      next = kind === '{' ? `${nameStart}}` : `${valueStart}]`
    } else if (kind === '}' || kind === ']') {
      open.pop()
      next = afterValue()
    } else if (kind === ',') next = open.at(-1) === '{' ? nameStart : valueStart
    else if (kind === ':') next = valueStart
    // Brackets are allowed only where a value may begin, so this string is a value and not a name.
    else next = next.includes('[') ? afterValue() : ':'
  }
}

/** The place of the unit that follows `before`. */
export function placeAfter(before: string): Place {
  return { line: before.split('\n').length, column: before.length - before.lastIndexOf('\n') }
}

interface Token {
  readonly kind: '{' | '}' | '[' | ']' | ':' | ',' | 'text' | 'number' | 'word'
  readonly start: number
  /** The index after the last unit that can be part of the token. */
  readonly end: number
  /** True if the text up to `end` is the whole token, not only its beginning. */
  readonly isWhole: boolean
}

/** The tokens of valid JSON. */
export function* tokensOf(text: string): Generator<Token> {
  const next = (from: number) => tokenAfter(text, from, readValidString)
  for (let token = next(0); token?.isWhole; token = next(token.end)) yield token
}

/** The token after white space; undefined at the end of the text. */
function tokenAfter(text: string, from: number, readText: typeof readString): Token | undefined {
  const start = isSpace(text.charCodeAt(from)) ? endOf(space, text, from) : from
  const unit = text[start]
  if (unit === undefined) return undefined
  if (isPunctuation(unit)) return { kind: unit, start, end: start + 1, isWhole: true }
  if (unit === '"') return readText(text, start)
  const word = words.find((one) => one[0] === unit)
  if (word !== undefined) return readWord(text, start, word)
  const end = endOf(number, text, start)
  return { kind: 'number', start, end, isWhole: isDigit(text.charCodeAt(end - 1)) && end > start }
}

function isPunctuation(unit: string): unit is '{' | '}' | '[' | ']' | ':' | ',' {
  return '{}[]:,'.includes(unit)
}

function isSpace(code: number): boolean {
  return code <= 0x20
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

function readString(text: string, start: number): Token {
  const kind = 'text'
  for (let end = endOf(plain, text, start + 1); ; end = endOf(plain, text, end)) {
    if (text[end] === '"') return { kind, start, end: end + 1, isWhole: true }
    if (text[end] !== '\\') return { kind, start, end, isWhole: false }
    const escapeEnd = endOf(escaping, text, end)
    if (escapeEnd - end !== (text[end + 1] === 'u' ? 6 : 2)) return { kind, start, end: escapeEnd, isWhole: false }
    end = escapeEnd
  }
}

/**
 * Reads a string that is known to be valid. A string may have 16 MiB, so this only searches for its end: a quotation
 * mark after an even number of backslashes.
 */
function readValidString(text: string, start: number): Token {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let backslashes = 0
    while (text[at - 1 - backslashes] === '\\') backslashes++
    if (backslashes % 2 === 0) return { kind: 'text', start, end: at + 1, isWhole: true }
  }
  return { kind: 'text', start, end: text.length, isWhole: false }
}

function readWord(text: string, start: number, word: string): Token {
  let length = 1
  while (length < word.length && word[length] === text[start + length]) length++
  return { kind: 'word', start, end: start + length, isWhole: length === word.length }
}

const words = ['true', 'false', 'null']
const space = /[\t\n\r ]*/y
/** The longest beginning of a number. It is a whole number token if it ends with a digit. */
const number = /-?(?:(?:0|[1-9]\d*)(?:\.(?:\d+(?:[eE][-+]?\d*)?)?|[eE][-+]?\d*)?)?/y
const plain = /[^"\\\u0000-\u001f]*/y
/** The longest beginning of an escape. */
const escaping = /\\(?:["\\/bfnrt]|u[\da-fA-F]{0,4})?/y

/** The end of the match of a sticky expression, which matches anywhere. */
function endOf(expression: RegExp, text: string, start: number): number {
  expression.lastIndex = start
  expression.test(text)
  return expression.lastIndex
}
