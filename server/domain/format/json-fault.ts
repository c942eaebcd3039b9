/** Where text stops being JSON. JSON.parse says so in some of its messages alone, and quotes the text in others. */
import { depthLimit } from '../../base/json-bounds.ts'

export interface Place {
  /** From 1. Lines end with LF. */
  readonly line: number
  /** UTF-16 units, from 1. */
  readonly column: number
}

/** UTF-16 units that are searched, in less time than the largest body of a request takes to parse. */
const mostUnits = 1_048_576

/** What may follow, by its first unit. */
const value = '"{[-0123456789tfn'
const name = '"'
const nothing = ''

/**
 * The first unit that JSON cannot have after those before it; one after the last where more has to follow.
 *
 * @returns undefined for JSON, and where the fault is beyond `mostUnits` or `depthLimit`
 */
export function findFault(json: string): Place | undefined {
  const text = json.slice(0, mostUnits)
  const at = endOfJson(text)
  return at === undefined || (at === text.length && text.length < json.length)
    ? undefined
    : placeAfter(text.slice(0, at))
}

/** Undefined: `text` is JSON, or too deep. */
function endOfJson(text: string): number | undefined {
  const open: ('{' | '[')[] = []
  const afterValue = () => (open.length === 0 ? nothing : open.at(-1) === '{' ? ',}' : ',]')
  let next = value
  let at = 0
  for (;;) {
    at = endOf(space, text, at)
    const unit = text[at]
    if (unit === undefined) return next === nothing ? undefined : at
    if (!next.includes(unit)) return at
    switch (unit) {
      case '{':
      case '[':
        if (open.push(unit) > depthLimit) return undefined
        next = unit === '{' ? `${name}}` : `${value}]`
        at++
        break
      case '}':
      case ']':
        open.pop()
        next = afterValue()
        at++
        break
      case ',':
        next = open.at(-1) === '{' ? name : value
        at++
        break
      case ':':
        next = value
        at++
        break
      default: {
        const { end, isWhole } = unit === '"' ? readString(text, at) : readWord(text, at)
        if (!isWhole) return end
        // Of these, a value alone may begin with a bracket.
        next = next.includes('[') ? afterValue() : ':'
        at = end
      }
    }
  }
}

/** A string, number or word that begins at a place, as far as it is one. */
interface Scalar {
  readonly end: number
  readonly isWhole: boolean
}

function readString(text: string, start: number): Scalar {
  for (let end = endOf(plain, text, start + 1); ; end = endOf(plain, text, end)) {
    if (text[end] === '"') return { end: end + 1, isWhole: true }
    if (text[end] !== '\\') return { end, isWhole: false }
    const escapeEnd = endOf(escaping, text, end)
    if (escapeEnd - end !== (text[end + 1] === 'u' ? 6 : 2)) return { end: escapeEnd, isWhole: false }
    end = escapeEnd
  }
}

function readWord(text: string, start: number): Scalar {
  const word = words.find((one) => one[0] === text[start])
  if (word === undefined) {
    const end = endOf(number, text, start)
    return { end, isWhole: /\d/.test(text[end - 1] ?? '') }
  }
  let length = 1
  while (length < word.length && word[length] === text[start + length]) length++
  return { end: start + length, isWhole: length === word.length }
}

const words = ['true', 'false', 'null']
const space = /[\t\n\r ]*/y
/** The longest beginning of a number, which is one if it ends with a digit. */
const number = /-?(?:(?:0|[1-9]\d*)(?:\.(?:\d+(?:[eE][-+]?\d*)?)?|[eE][-+]?\d*)?)?/y
const plain = /[^"\\\u0000-\u001f]*/y
/** The longest beginning of an escape. */
const escaping = /\\(?:["\\/bfnrt]|u[\da-fA-F]{0,4})?/y

/** Where the match of a sticky expression ends that matches anywhere. */
function endOf(expression: RegExp, text: string, start: number): number {
  expression.lastIndex = start
  expression.test(text)
  return expression.lastIndex
}

/** Of the unit that follows `before`. */
export function placeAfter(before: string): Place {
  return { line: before.split('\n').length, column: before.length - before.lastIndexOf('\n') }
}
