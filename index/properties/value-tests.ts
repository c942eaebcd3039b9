/** Tests of single values, one for each operator. A condition holds if the test of one value of its subject does. */

import { foldCase } from '../fold-case.ts'
import type { Condition, Scalar } from './filter.ts'
import { comparePoints, KIND, scalarOf, spanOf, type Value } from './values.ts'

export interface ValueTest {
  test(value: Value): boolean
  /** True for `ne`, `not_in` and `exists: false`: the condition holds if no value passes. */
  readonly isNegated: boolean
}

/** Compiles the operator and operand of a condition. */
export function valueTestOf({ op, value }: Pick<Condition, 'op' | 'value'>): ValueTest {
  switch (op) {
    case 'exists':
      return { test: () => true, isNegated: value === false }
    case 'eq':
    case 'in':
      return { test: equalTo(operandsOf(value)), isNegated: false }
    case 'ne':
    case 'not_in':
      return { test: equalTo(operandsOf(value)), isNegated: true }
    case 'is':
      return { test: alike(operandsOf(value)), isNegated: false }
    case 'starts_with':
    case 'contains':
      return { test: partOf(op, operandsOf(value)), isNegated: false }
    default:
      return { test: ordered(op, operandsOf(value)), isNegated: false }
  }
}

function operandsOf(value: Condition['value']): Value[] {
  return [value].flat().flatMap((one: Scalar) => scalarOf(one) ?? [])
}

/** Texts and dates are compared as texts, and other kinds by value. */
function equalTo(operands: readonly Value[]): ValueTest['test'] {
  const keys = new Set(operands.map(keyOf))
  return (value) => keys.has(keyOf(value))
}

function keyOf(value: Value): string | number | boolean | undefined {
  if (value.kind === KIND.boolean) return value.order === 1
  if (value.kind === KIND.number) return value.order
  return value.kind === KIND.object ? undefined : value.text
}

function alike(operands: readonly Value[]): ValueTest['test'] {
  const keys = new Set(operands.map(foldedKeyOf))
  return (value) => keys.has(foldedKeyOf(value))
}

function foldedKeyOf(value: Value): ReturnType<typeof keyOf> {
  const key = keyOf(value)
  return typeof key === 'string' ? foldOf(value) : key
}

function foldOf({ text, folded }: Value): string {
  return folded ?? foldCase(text)
}

function partOf(op: 'starts_with' | 'contains', [operand]: readonly Value[]): ValueTest['test'] {
  const part = foldCase(operand?.text ?? '')
  return (value) => {
    if (value.kind !== KIND.text && value.kind !== KIND.date) return false
    const folded = foldOf(value)
    return op === 'contains' ? folded.includes(part) : folded.startsWith(part)
  }
}

/** Values of another kind than the operand are not ordered. A day as operand is the whole day. */
function ordered(op: 'lt' | 'le' | 'gt' | 'ge', [operand]: readonly Value[]): ValueTest['test'] {
  if (operand === undefined) return () => false
  const compare = operand.kind === KIND.text ? comparedTexts(operand) : comparedNumbers(operand, op)
  return (value) => {
    if (value.kind !== operand.kind) return false
    const order = compare(value)
    if (op === 'lt') return order < 0
    if (op === 'le') return order <= 0
    return op === 'gt' ? order > 0 : order >= 0
  }
}

function comparedTexts({ text }: Value): (value: Value) => number {
  const folded = foldCase(text)
  return (value) => comparePoints(foldOf(value), folded)
}

/** `le` and `gt` compare with the end of a day. Dates may have fractions of milliseconds. */
function comparedNumbers(operand: Value, op: string): (value: Value) => number {
  const span = operand.kind === KIND.date && (op === 'le' || op === 'gt') ? spanOf(operand) : 0
  if (span === 0) return ({ order }) => (order < operand.order ? -1 : order > operand.order ? 1 : 0)
  return ({ order }) => (order < operand.order + span ? -1 : 1)
}
