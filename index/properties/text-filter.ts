/**
 * The text form of filters, as people write it: `type:recipe serves>=4 -status:done,dropped`. It compiles to a filter.
 */

import * as limits from '../limits.ts'
import {
  type Condition,
  checkSize,
  type Filter,
  FilterError,
  type Operator,
  type Scalar,
  type Subject,
} from './filter.ts'
import { TextReader, type Word } from './text-reader.ts'

/** Longest first. */
const signs = ['!=', '<=', '>=', ':', '=', '<', '>', '~'] as const

type Sign = (typeof signs)[number]

/** A part of the text that must hold, as `-status:done`. Positions are in UTF-16 units. */
export interface Term {
  readonly filter: Filter
  readonly from: number
  readonly to: number
}

/**
 * Parses a text form. Never takes longer than linear time.
 *
 * @param today the day that `today` stands for, as `2026-12-01`
 * @throws FilterError with the position
 */
export function parseTextFilter(text: string, today: string): Filter {
  return readTextFilter(text, today).filter
}

/** Parses a text form, and keeps the terms that must all hold. Otherwise the same as parseTextFilter. */
export function readTextFilter(
  text: string,
  today: string,
): { readonly filter: Filter; readonly terms: readonly Term[] } {
  const terms = termsOf(text, today)
  const filter = allOf(terms)
  checkSize(filter)
  return { filter, terms }
}

/** Parses a text form into the terms that must all hold. @throws FilterError */
function termsOf(text: string, today: string): Term[] {
  if (text.length > 2 * limits.filterText || Array.from(text).length > limits.filterText)
    throw new FilterError('filter_too_large', `A filter has at most ${limits.filterText} characters`)
  const reader = new FilterReader(text, today)
  const alternatives = reader.readAlternatives(0)
  reader.expectEnd()
  const all = alternatives.flat()
  const [first] = all
  const last = all.at(-1)
  if (alternatives.length === 1 || !first || !last) return all
  return [{ filter: anyOf(alternatives), from: first.from, to: last.to }]
}

function anyOf(alternatives: readonly (readonly Term[])[]): Filter {
  return { any: alternatives.map(allOf) }
}

function allOf(terms: readonly Term[]): Filter {
  const [only] = terms
  return only && terms.length === 1 ? only.filter : { all: terms.map(({ filter }) => filter) }
}

export class FilterReader extends TextReader {
  private readonly today: string

  constructor(text: string, today: string) {
    super(text)
    this.today = today
  }

  /** Reads groups of terms with `OR` between them. */
  readAlternatives(level: number): Term[][] {
    if (level >= limits.filterLevels)
      throw new FilterError('filter_too_large', `Parentheses have at most ${limits.filterLevels - 1} levels`, {
        at: this.at,
      })
    const alternatives: Term[][] = [[]]
    for (;;) {
      this.skipSpaces()
      if (this.at >= this.text.length || this.text[this.at] === ')') break
      if (this.skipOr()) alternatives.push([])
      else alternatives.at(-1)?.push(this.readTerm(level))
    }
    if (alternatives.length > 1 && alternatives.some((terms) => terms.length === 0))
      throw this.fault('`OR` stands between two conditions')
    return alternatives
  }

  expectEnd(): void {
    if (this.at < this.text.length) throw this.fault('This `)` closes no parenthesis')
  }

  /** Reads one condition between spaces. Undefined if something else is there. @throws FilterError */
  readConditionAt(at: number): Term | undefined {
    this.at = at
    const opening = this.text[at] === '-' ? at + 1 : at
    if ('("->'.includes(this.text[opening] ?? '"')) return undefined
    const term = this.readTerm(0)
    return term.to === this.text.length || /\s/.test(this.text[term.to] ?? '') ? term : undefined
  }

  private readTerm(level: number): Term {
    const from = this.at
    const isNegated = this.skip('-') && this.text[this.at] !== '>'
    if (!isNegated) this.at = from
    const filter = this.skip('(') ? this.readGroup(level) : this.readCondition()
    return { filter: isNegated ? { not: filter } : filter, from, to: this.at }
  }

  private readGroup(level: number): Filter {
    const opening = this.at - 1
    const alternatives = this.readAlternatives(level + 1)
    if (!this.skip(')')) throw this.fault('This `(` has no `)`; add one after the last condition of the group', opening)
    if (alternatives.flat().length === 0) throw this.fault('Parentheses enclose at least one condition', opening)
    return alternatives.length === 1 ? allOf(alternatives[0] ?? []) : anyOf(alternatives)
  }

  private readCondition(): Filter {
    const from = this.at
    const subject = this.readSubject()
    const sign = signs.find((one) => this.skip(one))
    if (sign === undefined)
      throw this.fault(
        'A condition is a name, a sign and a value without spaces between them, such as `status:done`; put double quotes around a name or a value with spaces, and write `OR` in capitals',
        from,
      )
    const start = this.at
    if (':=<>~!'.includes(this.text[start] ?? ' '))
      throw this.fault(
        `\`${sign}\` is followed by another sign; the signs are ${signs.map((one) => `\`${one}\``).join(' ')}, and a value that begins with one has double quotes`,
        start,
      )
    if (sign === ':' && this.text[this.at] === '*' && this.isOver(this.at + 1)) {
      this.at++
      if (isEdgeField(subject)) throw this.fault('`parent` and `under` take the id of a node', start)
      return { ...subject, op: 'exists', value: true }
    }
    const words = this.readWords()
    return conditionOf(subject, sign, words, this.today, (message) => this.fault(message, start))
  }

  private skipOr(): boolean {
    if (!this.text.startsWith('OR', this.at) || !this.isOver(this.at + 2)) return false
    this.at += 2
    return true
  }
}

function isEdgeField(subject: Subject): boolean {
  return 'field' in subject && (subject.field === 'parent' || subject.field === 'under')
}

function conditionOf(
  subject: Subject,
  sign: Sign,
  words: readonly Word[],
  today: string,
  fault: (message: string) => FilterError,
): Filter {
  if ('connection' in subject || isEdgeField(subject)) return edgeCondition(subject, sign, words, fault)
  const [word] = words
  if (sign === ':' || sign === '=' || sign === '!=') {
    if (sign === ':' && word && words.length === 1 && isBeginning(word))
      return { ...subject, op: 'starts_with', value: word.text.slice(0, -1) }
    const values = words.flatMap((one) => readings(one, today))
    const day = dayOf(subject, words, values)
    if (day !== undefined) return sign === '!=' ? { not: wholeDay(subject, day) } : wholeDay(subject, day)
    return equalCondition(subject, sign, values)
  }
  if (word === undefined || words.length > 1) throw fault(`\`${sign}\` takes one value`)
  if (sign === '~') return { ...subject, op: 'contains', value: word.text }
  const op = ({ '<': 'lt', '<=': 'le', '>': 'gt', '>=': 'ge' } as const)[sign]
  return { ...subject, op, value: readings(word, today)[0] ?? word.text }
}

/** True for `word*`. */
function isBeginning({ text, isQuoted }: Word): boolean {
  return !isQuoted && text.length > 1 && text.endsWith('*')
}

function equalCondition(subject: Subject, sign: ':' | '=' | '!=', values: readonly Scalar[]): Condition {
  const [only = ''] = values
  const isList = values.length > 1
  if (sign === ':') return { ...subject, op: 'is', value: isList ? values : only }
  const op: Operator = isList ? (sign === '=' ? 'in' : 'not_in') : sign === '=' ? 'eq' : 'ne'
  return { ...subject, op, value: isList ? values : only }
}

/** Times of nodes are instants, so `created:2026-12-01` means the whole day. */
function dayOf(subject: Subject, words: readonly Word[], [value]: readonly Scalar[]): string | undefined {
  const isTime = 'field' in subject && (subject.field === 'created_at' || subject.field === 'updated_at')
  if (!isTime || words.length > 1 || typeof value !== 'string') return undefined
  return /^\d{4}-\d\d-\d\d$/.test(value) ? value : undefined
}

function wholeDay(subject: Subject, day: string): Filter {
  return {
    all: [
      { ...subject, op: 'ge', value: day },
      { ...subject, op: 'le', value: day },
    ],
  }
}

function edgeCondition(
  subject: Subject,
  sign: Sign,
  words: readonly Word[],
  fault: (message: string) => FilterError,
): Filter {
  if (sign !== ':' && sign !== '=' && sign !== '!=') throw fault('A connection takes `:` and the id of a node, or `:*`')
  const ids = words.map(({ text }) => text)
  const [only = ''] = ids
  if (ids.length > 1 && !('connection' in subject)) throw fault('`parent` and `under` take one id of a node')
  const condition: Condition =
    ids.length > 1 ? { ...subject, op: 'in', value: ids } : { ...subject, op: 'eq', value: only }
  return sign === '!=' ? { not: condition } : condition
}

/** Returns the values that a word may mean, the typed one first. A quoted word is a text. */
function readings({ text, isQuoted }: Word, today: string): Scalar[] {
  if (isQuoted) return [text]
  if (text === 'today') return [today]
  if (text === 'true' || text === 'false') return [text === 'true', text]
  return /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text) ? [Number(text), text] : [text]
}
