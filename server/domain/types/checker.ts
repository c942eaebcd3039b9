/**
 * Checks the properties of a node by the schema of its type. The schema is read as it is, so that nothing is compiled
 * or kept for it.
 *
 * The size of the properties bounds the time. A value is visited once, lists of allowed values are sets, and the work
 * for patterns is limited.
 */

import * as limits from '../../base/limits.ts'
import { isRecord } from '../format/json-text.ts'
import { originProperties } from '../format/origin-properties.ts'
import { type FormatName, formats } from './formats.ts'
import { compilePattern } from './patterns.ts'
import { hasType, type Schema, typePhrase } from './vocabulary.ts'
import { counted, describe, didYouMean, either, pathOf, pointerOf, quote, type Steps, scalarText } from './wording.ts'

/** A rule of a type that a node breaks. */
export interface Violation {
  /** The place, such as `properties.steps[2].name` or `connections.written_by`. */
  readonly path: string
  /** The JSON pointer into `node.json`. Absent for edges. */
  readonly pointer?: string
  /** The keyword that is broken. */
  readonly rule: string
  /** A sentence with the path. */
  readonly msg: string
}

/** A violation with what a comparison of two versions needs. */
export interface Finding {
  /** The rule's place in the definition, which all items of a list share. */
  readonly place: string
  /** How much the rule is broken: 1, or the number of items beyond a limit. */
  readonly excess: number
  /** The names and indexes that lead to the value. */
  readonly steps: Steps
  /** Words the violation. */
  readonly word: () => Violation
}

/** Receives each violation in the order of the properties. */
export type Report = (finding: Finding) => void

/** Properties that each type allows: its name, and those that imports set. */
const alwaysAllowed = ['type', ...originProperties]

/** Checks properties. `alwaysAllowed` names properties that need no field. */
export function checkProperties(schema: Schema, properties: Readonly<Record<string, unknown>>, report: Report): void {
  new Check(report, ['properties'], newPatternWork(), alwaysAllowed).visit(schema, properties)
}

/** Checks another value, such as a default. @param at its path */
export function checkValue(schema: Schema, value: unknown, at: Steps, work: PatternWork, report: Report): void {
  new Check(report, at, work, []).visit(schema, value)
}

/** The work for patterns that a check may still do. */
export interface PatternWork {
  left: number
}

export function newPatternWork(): PatternWork {
  return { left: limits.patternWork }
}

const noFields: Readonly<Record<string, Schema>> = {}

/** Sets of allowed values, by their list in the schema. */
const allowedValues = new WeakMap<readonly unknown[], ReadonlySet<unknown>>()

class Check {
  private readonly report: Report
  private readonly steps: (string | number)[]
  private readonly depth: number
  /** Names that the outermost object may always have. */
  private readonly allowed: readonly string[]
  private readonly work: PatternWork

  constructor(report: Report, steps: Steps, work: PatternWork, allowed: readonly string[]) {
    this.report = report
    this.work = work
    this.steps = [...steps]
    this.depth = steps.length
    this.allowed = allowed
  }

  visit(schema: Schema, value: unknown): undefined {
    if (schema.type !== undefined && !hasType(value, schema.type))
      return this.fail('type', () => `must be ${typePhrase(schema.type ?? [])}; it is ${describe(value)}`)
    if (schema.enum && !allowedBy(schema.enum).has(value))
      this.fail('enum', () => `must be ${either((schema.enum ?? []).map(scalarText))}; it is ${describe(value)}`)
    if (schema.const !== undefined && schema.const !== value)
      this.fail('const', () => `must be ${scalarText(schema.const)}; it is ${describe(value)}`)
    if (typeof value === 'string') this.visitText(schema, value)
    else if (typeof value === 'number') this.visitNumber(schema, value)
    else if (Array.isArray(value)) this.visitList(schema, value)
    else if (isRecord(value)) this.visitObject(schema, value)
  }

  private visitObject(schema: Schema, value: Readonly<Record<string, unknown>>): void {
    const { properties = noFields, required } = schema
    if (required)
      for (const name of required) if (!Object.hasOwn(value, name)) this.failAt(name, 'required', () => 'is missing')
    for (const name of Object.keys(value)) {
      const inner = Object.hasOwn(properties, name) ? properties[name] : undefined
      if (inner) {
        this.steps.push(name)
        this.visit(inner, value[name])
        this.steps.pop()
      } else if (schema.additionalProperties === false && !(this.isOutermost() && this.allowed.includes(name)))
        this.failAt(name, 'additionalProperties', () => {
          const unused = Object.keys(properties).filter((known) => !Object.hasOwn(value, known))
          return `is not a field here, and others are not allowed${didYouMean(name, unused)}`
        })
    }
  }

  private isOutermost(): boolean {
    return this.steps.length === this.depth
  }

  private visitList(schema: Schema, value: readonly unknown[]): void {
    const { minItems = 0, maxItems = Infinity, items } = schema
    if (value.length < minItems)
      this.fail('minItems', () => wrongLength('at least', minItems, 'item', value.length), minItems - value.length)
    if (value.length > maxItems)
      this.fail('maxItems', () => wrongLength('at most', maxItems, 'item', value.length), value.length - maxItems)
    if (schema.uniqueItems) this.checkUnique(value, items?.type)
    if (!items) return
    for (let n = 0; n < value.length; n++) {
      this.steps.push(n)
      this.visit(items, value[n])
      this.steps.pop()
    }
  }

  /** Compares items of the right type, which are scalars. All other items break the rule on the type. */
  private checkUnique(value: readonly unknown[], type: Schema['type']): undefined {
    const firsts = new Map<unknown, number>()
    for (let n = 0; n < value.length; n++) {
      const item = value[n]
      if (type !== undefined && !hasType(item, type)) continue
      const first = firsts.get(item)
      if (first !== undefined) return this.failUnique(first + 1, n + 1, item)
      firsts.set(item, n)
    }
  }

  private failUnique(first: number, second: number, item: unknown): undefined {
    const both = `items ${first} and ${second}`
    this.fail('uniqueItems', () => `must not have an item twice; ${both} are ${describe(item)}`)
  }

  private visitNumber(schema: Schema, value: number): void {
    const { minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below, multipleOf } = schema
    if (minimum !== undefined && value < minimum) this.failNumber('minimum', `at least ${minimum}`, value)
    if (maximum !== undefined && value > maximum) this.failNumber('maximum', `at most ${maximum}`, value)
    if (above !== undefined && value <= above) this.failNumber('exclusiveMinimum', `above ${above}`, value)
    if (below !== undefined && value >= below) this.failNumber('exclusiveMaximum', `below ${below}`, value)
    if (multipleOf !== undefined && value % multipleOf !== 0)
      this.failNumber('multipleOf', `a multiple of ${multipleOf}`, value)
  }

  private failNumber(rule: string, right: string, value: number): void {
    this.fail(rule, () => `must be ${right}; it is ${value}`)
  }

  private visitText(schema: Schema, value: string): void {
    const { minLength, maxLength, pattern, format } = schema
    if (minLength !== undefined && value.length < 2 * minLength && characters(value) < minLength)
      this.fail('minLength', () => wrongLength('at least', minLength, 'character', characters(value)))
    if (maxLength !== undefined && value.length > maxLength && characters(value) > maxLength)
      this.fail('maxLength', () => wrongLength('at most', maxLength, 'character', characters(value)))
    if (format !== undefined) this.checkFormat(format, value)
    if (pattern !== undefined) this.checkPattern(pattern, value)
  }

  private checkFormat(format: FormatName, value: string): void {
    if (!formats[format].holds(value))
      this.fail('format', () => `must ${formats[format].must}; it is ${describe(value)}`)
  }

  /** Compares a text with a pattern. A text that would take too long breaks the rule. */
  private checkPattern(source: string, value: string): undefined {
    if (value.length > limits.patternText)
      return this.fail('pattern', () => {
        const most = counted(limits.patternText, 'character')
        return `is too long for its pattern: it must have at most ${most}, and has ${value.length.toLocaleString('en')}`
      })
    const pattern = compilePattern(source)
    // An empty text also takes its time.
    this.work.left -= (value.length + 1) * pattern.cost
    if (this.work.left < 0)
      return this.fail(
        'pattern',
        () => 'is too long for its pattern: the texts before it took all the time for patterns',
      )
    if (!pattern.test(value))
      this.fail('pattern', () => `must match the pattern ${quote(source)}; it is ${describe(value)}`)
  }

  private fail(rule: string, say: () => string, excess = 1): undefined {
    this.found([...this.steps], this.steps, rule, say, excess)
  }

  /** Reports a fault of a member. Names that the schema lacks share the place of their object. */
  private failAt(name: string, rule: string, say: () => string): void {
    const steps = [...this.steps, name]
    this.found(steps, rule === 'required' ? steps : this.steps, rule, say, 1)
  }

  private found(steps: Steps, place: Steps, rule: string, say: () => string, excess: number): void {
    const word = () => {
      const path = pathOf(steps)
      return { path, pointer: pointerOf(steps), rule, msg: `${path} ${say()}` }
    }
    this.report({ place: placeOf(rule, place), excess, steps, word })
  }
}

/** Names a place in the definition. All items of a list share one. */
export function placeOf(rule: string, steps: Steps): string {
  let place = rule
  // Names of a definition have no control characters.
  for (const step of steps) place += typeof step === 'number' ? '\0' : `\n${step}`
  return place
}

function wrongLength(limit: string, right: number, noun: string, length: number): string {
  return `must have ${limit} ${counted(right, noun)}; it has ${length}`
}

/** Counts characters as JSON Schema does: code points. */
function characters(text: string): number {
  let count = 0
  for (let at = 0; at < text.length; at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1) count++
  return count
}

function allowedBy(values: readonly unknown[]): ReadonlySet<unknown> {
  const known = allowedValues.get(values)
  if (known) return known
  const set = new Set(values)
  allowedValues.set(values, set)
  return set
}
