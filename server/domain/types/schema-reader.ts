/** Reads the schema of a type. Each fault is reported at its place, with the right form. */

import * as limits from '../../base/limits.ts'
import { checkValue, newPatternWork } from './checker.ts'
import type { Faults } from './faults.ts'
import { formatNames } from './formats.ts'
import { PatternError } from './pattern-translation.ts'
import { compilePattern } from './patterns.ts'
import {
  dialect,
  hasType,
  isOwnWord,
  keywords,
  type Schema,
  typeNames,
  typePhrase,
  unknownKeyword,
} from './vocabulary.ts'
import { counted, didYouMean, either, quote, type Steps, scalarText } from './wording.ts'

/** UTF-16 units of the name of a field. */
const longestName = 100

/** A schema within the schema of properties, which has level 0. */
interface At {
  readonly place: Steps
  readonly level: number
  /** True for the schema of items. */
  readonly isItem: boolean
}

type Json = Readonly<Record<string, unknown>>

/** Reads the schema of properties. Returns undefined if it has a fault. */
export function readSchema(json: unknown, place: Steps, faults: Faults): Schema | undefined {
  const before = faults.list.length
  new SchemaReader(faults).readRoot(json, place)
  // Without faults, the JSON has exactly the form of a schema.
  return faults.list.length > before ? undefined : (json as Schema)
}

class SchemaReader {
  private readonly faults: Faults
  private fields = 0
  private patternCost = 0
  /** Shared by all defaults. */
  private readonly patternWork = newPatternWork()

  constructor(faults: Faults) {
    this.faults = faults
  }

  readRoot(json: unknown, place: Steps): void {
    const schema = this.faults.object(json, place)
    if (!schema) return
    if (schema.type !== undefined && schema.type !== 'object')
      this.faults.wrong([...place, 'type'], 'be "object", because the properties of a node are one', schema.type)
    for (const name of ['enum', 'const', 'default'])
      if (Object.hasOwn(schema, name)) this.faults.add([...place, name], 'is only for fields, not for all properties')
    this.read({ type: 'object', ...schema }, { place, level: 0, isItem: false })
    if (this.fields > limits.typeFields)
      this.faults.add(
        place,
        `must have at most ${counted(limits.typeFields, 'field')} at all levels; it has ${this.fields}`,
      )
    if (this.patternCost > limits.typePatternStates)
      this.faults.add(
        place,
        `must have fewer or simpler patterns: together they cost ${this.patternCost}, and at most ${limits.typePatternStates} are allowed`,
      )
  }

  private read(schema: Json, at: At): void {
    const before = this.faults.list.length
    for (const name of Object.keys(schema)) this.readKeyword(schema, name, at)
    if (this.faults.list.length > before) return
    this.checkLimits(schema as Schema, at.place)
    this.checkValues(schema as Schema, at.place)
  }

  private readKeyword(schema: Json, name: string, at: At): undefined {
    const { faults } = this
    const value = schema[name]
    const place = [...at.place, name]
    if (isOwnWord(name)) return
    const keyword = keywords.get(name)
    if (!keyword) return faults.add(place, unknownKeyword(name), 'unknown_keyword')
    const { form, types } = keyword
    if (types && !this.mayHave(schema, types))
      return faults.add(place, `has no effect here: it is only for ${typePhrase(types)}, and \`type\` allows none`)
    if (form === 'text') faults.text(value, place)
    else if (form === 'boolean') faults.boolean(value, place)
    else if (form === 'number') faults.number(value, place)
    else if (form === 'count') faults.count(value, place)
    else if (form === 'list' && !Array.isArray(value)) faults.wrong(place, 'be a list', value)
    else if (form === 'schema') this.readSpecial(schema, name, place, at)
  }

  /** True if a value for a keyword is possible. A `type` with a fault is reported on its own. */
  private mayHave(schema: Json, types: readonly string[]): boolean {
    const own = [schema.type ?? []].flat()
    return own.length === 0 || own.some((one) => typeof one !== 'string' || types.includes(one))
  }

  private readSpecial(schema: Json, name: string, place: Steps, { level, isItem }: At): void {
    const { faults } = this
    const value = schema[name]
    switch (name) {
      case '$schema':
        if (level > 0 || isItem) faults.add(place, 'is only for the outermost schema')
        else faults.choice(value, place, [dialect])
        break
      case 'type':
        this.readType(value, place)
        break
      case 'enum':
        if (Array.isArray(value) && value.length === 0)
          faults.add(place, 'must have a value: an empty list allows nothing')
        faults.items(value, place, limits.enumValues, (item, at) => this.readScalar(item, at))
        break
      case 'const':
        this.readScalar(value, place)
        break
      case 'properties':
        this.readFields(value, place, level + 1)
        break
      case 'required':
        this.readRequired(schema, value, place, level === 0 && !isItem ? ['type'] : [])
        break
      case 'items':
        this.readItems(value, place, level, isItem)
        break
      case 'pattern':
        this.readPattern(value, place)
        break
      case 'format':
        faults.choice(value, place, formatNames)
        break
      default:
        faults.count(value, place, 1)
    }
  }

  private readType(value: unknown, place: Steps): void {
    const types: unknown[] = Array.isArray(value) ? value : [value]
    const names = types.filter((one) => one !== 'null')
    const isPair = !Array.isArray(value) || (value.length === 2 && names.length === 1)
    const [name] = names
    if (isPair && names.length === 1 && typeNames.some((one) => one === name)) return
    const near = typeof value === 'string' ? didYouMean(value, typeNames) : ''
    this.faults.add(
      place,
      `must be ${either(typeNames.map(quote))}, or a list of one of them and "null"; it is ${scalarText(JSON.stringify(value))}${near}`,
    )
  }

  private readScalar(value: unknown, place: Steps): void {
    if (typeof value === 'object' && value !== null)
      this.faults.wrong(place, 'be a text, a number, true, false or null', value)
  }

  private readFields(value: unknown, place: Steps, level: number): void {
    const fields = this.faults.object(value, place)
    if (!fields) return
    const names = Object.keys(fields)
    this.fields += names.length
    if (level > limits.typeLevels || this.fields > limits.typeFields) {
      if (level > limits.typeLevels)
        this.faults.add(place, `is too deep: fields have at most ${limits.typeLevels} levels`)
      return
    }
    for (const name of names) {
      const at = [...place, name]
      if (this.faults.fieldName(name, at, longestName))
        this.readInner(fields[name], { place: at, level, isItem: false })
    }
  }

  private readInner(value: unknown, at: At): void {
    const schema = this.faults.object(value, at.place)
    if (schema) this.read(schema, at)
  }

  /** Reads the schema of items. They belong to the level of their list, and a list in a list is a level more. */
  private readItems(value: unknown, place: Steps, outer: number, isItem: boolean): void {
    const level = isItem ? outer + 1 : outer
    if (level > limits.typeLevels) this.faults.add(place, `is too deep: lists have at most ${limits.typeLevels} levels`)
    else this.readInner(value, { place, level, isItem: true })
  }

  /** Reads the names of fields that must be there. Every node of a type has a `type`. */
  private readRequired(schema: Json, value: unknown, place: Steps, implied: readonly string[]): void {
    const { properties = {} } = schema
    const known = typeof properties === 'object' && properties !== null ? Object.keys(properties) : []
    this.faults.items(value, place, limits.typeFields, (item, at) => {
      if (typeof item !== 'string') this.faults.wrong(at, 'be the name of a field', item)
      else if (!known.includes(item) && !implied.includes(item))
        this.faults.add(
          at,
          `must be the name of a field in \`properties\`; ${quote(item)} is not${didYouMean(item, known)}`,
        )
    })
  }

  private readPattern(value: unknown, place: Steps): void {
    const source = this.faults.text(value, place)
    if (source === undefined) return
    try {
      this.patternCost += compilePattern(source).cost
    } catch (error) {
      if (!(error instanceof PatternError)) throw error
      this.faults.add(place, error.message)
    }
  }

  /** Finds limits that no value meets. */
  private checkLimits(schema: Schema, place: Steps): void {
    const {
      minimum = -Infinity,
      maximum = Infinity,
      exclusiveMinimum: above = -Infinity,
      exclusiveMaximum: below = Infinity,
    } = schema
    const pairs = [
      ['minLength', schema.minLength ?? 0, 'maxLength', schema.maxLength ?? Infinity],
      ['minItems', schema.minItems ?? 0, 'maxItems', schema.maxItems ?? Infinity],
      ['minimum', minimum, 'maximum', maximum],
    ] as const
    for (const [low, least, high, most] of pairs)
      if (least > most)
        this.faults.add([...place, low], `must not be above \`${high}\`, which is ${most}; it is ${least}`)
    if (above >= Math.min(maximum, below))
      this.faults.add([...place, 'exclusiveMinimum'], 'leaves no number below the maximum')
    else if (below <= minimum) this.faults.add([...place, 'exclusiveMaximum'], 'leaves no number above the minimum')
    const item = schema.items?.type
    const isScalar = item !== undefined && [item].flat().every((one) => one !== 'array' && one !== 'object')
    if (schema.uniqueItems && !isScalar)
      this.faults.add(
        [...place, 'uniqueItems'],
        'is only for lists whose `items` have a `type` other than "array" and "object"',
      )
  }

  /** Finds values in the schema that the schema itself refuses. */
  private checkValues(schema: Schema, place: Steps): void {
    const { type } = schema
    if (type !== undefined)
      for (const [n, value] of (schema.enum ?? []).entries())
        if (!hasType(value, type))
          this.faults.wrong([...place, 'enum', n], `be ${typePhrase(type)}, as \`type\` says`, value)
    if (type !== undefined && schema.const !== undefined && !hasType(schema.const, type))
      this.faults.wrong([...place, 'const'], `be ${typePhrase(type)}, as \`type\` says`, schema.const)
    if (Object.hasOwn(schema, 'default'))
      checkValue(schema, schema.default, [...place, 'default'], this.patternWork, ({ steps, word }) => {
        this.faults.put(word().msg, steps)
      })
  }
}
