/** Words for places and values of JSON, in sentences about faults. */

import { closest, distance } from 'fastest-levenshtein'
import { excerpt } from '../../base/excerpt.ts'

/** Names and indexes that lead to a value, from the outermost. */
export type Steps = readonly (string | number)[]

/** Returns a path such as `properties.steps[2].name`. Names that are long or have other characters are quoted. */
export function pathOf(steps: Steps): string {
  return steps
    .map((step, n) => {
      if (typeof step === 'number') return `[${step}]`
      if (step.length > longestName || !/^[\p{L}_$][\p{L}\p{N}_$-]*$/u.test(step)) return `[${quote(step)}]`
      return n === 0 ? step : `.${step}`
    })
    .join('')
}

/** Returns a JSON pointer. Source: RFC 6901. */
export function pointerOf(steps: Steps): string {
  return steps.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

/** Quotes the beginning of a text. */
export function quote(text: string): string {
  return JSON.stringify(excerpt(text))
}

/** Describes a value, such as `the text "four"`. */
export function describe(value: unknown): string {
  if (typeof value === 'string') return `the text ${quote(value)}`
  if (typeof value === 'number') return `the number ${value}`
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}

/** Writes a scalar as JSON. */
export function scalarText(value: unknown): string {
  return typeof value === 'string' ? quote(value) : String(value)
}

/** The most words that a sentence lists. */
const mostListed = 20

/** Joins words, such as `1, 2 or 3`. */
export function either(words: readonly string[]): string {
  const listed = words.length > mostListed ? [...words.slice(0, mostListed), 'another allowed value'] : words
  return listed.length < 2 ? listed.join('') : `${listed.slice(0, -1).join(', ')} or ${listed.at(-1)}`
}

export function counted(count: number, one: string): string {
  return `${count.toLocaleString('en')} ${one}${count === 1 ? '' : 's'}`
}

/** The share of letters by which a misspelt name may differ. */
const mostDifferent = 0.4
/** Longer names have no near ones, because their comparison takes long. */
const longestName = 100

/** Returns the end of a sentence about an unknown name: the nearest known one. Empty if none is near. */
export function didYouMean(name: string, known: readonly string[]): string {
  const candidates = name.length > longestName ? [] : known.filter(({ length }) => length <= longestName)
  if (candidates.length === 0) return ''
  const nearest = closest(name, candidates)
  return distance(name, nearest) <= Math.ceil(mostDifferent * name.length) ? `; did you mean ${quote(nearest)}?` : ''
}
