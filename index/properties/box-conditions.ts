/** Finds conditions among the words of a search. Everything else stays words. */

import * as limits from '../limits.ts'
import { type Condition, conditionsOf, type Filter, FilterError } from './filter.ts'
import { FilterReader, type Term } from './text-filter.ts'
import { KIND, scalarOf } from './values.ts'

/** A condition as it is written in a text. */
export interface ReadCondition {
  readonly text: string
  /** Its place in the text, in UTF-16 units. */
  readonly from: number
  readonly to: number
}

export interface BoxParts {
  /** The query without its conditions. */
  readonly words: string
  readonly conditions: readonly ReadCondition[]
  /** Undefined without a condition. */
  readonly filter?: Filter
}

/** True if a query may have conditions. Such a query needs the names of properties. */
export function mayHaveConditions(query: string, today: string): boolean {
  return readConditions(query, today, () => true).conditions.length > 0
}

/**
 * Reads the conditions of a query. Their names are known properties, `type`, `created` or `updated`. Quoted phrases,
 * `title:` and `tag:` are parts of the words. Never throws.
 *
 * @param isKnown true for the names of properties that a node has
 */
export function readConditions(query: string, today: string, isKnown: (name: string) => boolean): BoxParts {
  const reader = new FilterReader(query, today)
  const terms: Term[] = []
  const words: string[] = []
  let copied = 0
  for (let at = nextWord(query, 0); at < query.length; at = nextWord(query, at)) {
    const term = terms.length < limits.filterConditions ? termAt(reader, at, isKnown) : undefined
    if (term === undefined) at = wordEnd(query, at)
    else {
      words.push(query.slice(copied, term.from).trim())
      copied = term.to
      at = term.to
      terms.push(term)
    }
  }
  if (terms.length === 0) return { words: query, conditions: [] }
  return {
    words: [...words, query.slice(copied).trim()].filter((part) => part !== '').join(' '),
    conditions: terms.map(({ from, to }) => ({ text: query.slice(from, to), from, to })),
    filter: { all: terms.map(({ filter }) => filter) },
  }
}

function termAt(reader: FilterReader, at: number, isKnown: (name: string) => boolean): Term | undefined {
  try {
    const term = reader.readConditionAt(at)
    return term !== undefined && conditionsOf(term.filter).every((one) => isCondition(one, isKnown)) ? term : undefined
  } catch (error) {
    if (error instanceof FilterError) return undefined
    throw error
  }
}

function isCondition(condition: Condition, isKnown: (name: string) => boolean): boolean {
  if ('property' in condition) return isKnown([condition.property].flat()[0] ?? '')
  if (!('field' in condition)) return false
  const { field, op, value } = condition
  if (field === 'type') return true
  if (field !== 'created_at' && field !== 'updated_at') return false
  return op === 'exists' || [value].flat().every((one) => scalarOf(one)?.kind === KIND.date)
}

function nextWord(text: string, at: number): number {
  return placeFrom(/\S/g, text, at)
}

/** Returns the end of a word. A quoted phrase is one word. */
function wordEnd(text: string, at: number): number {
  const quote = placeFrom(/["\s]/g, text, at)
  if (text[quote] !== '"') return quote
  const closing = text.indexOf('"', quote + 1)
  return closing < 0 ? placeFrom(/\s/g, text, at) : closing + 1
}

/** Returns the position of the next match, or the end of the text. */
function placeFrom(expression: RegExp, text: string, from: number): number {
  expression.lastIndex = from
  return expression.exec(text)?.index ?? text.length
}
