/** Values of fields in a form, and back. A value that nobody edits keeps its bytes. */

import { type FieldKind, factsOf, kindOf } from '../field-kinds.ts'
import type { TypeField } from '../text/type-labels.ts'

/** A field as a form shows it. */
export interface FieldState {
  readonly field: TypeField
  readonly kind: FieldKind | undefined
  readonly input: FieldKind['input'] | 'json'
  /** The values of its controls. Checkboxes have one for each that is checked. */
  readonly texts: readonly string[]
  readonly choices: readonly string[]
  /** The value of the node, which its input may not express. */
  readonly value: unknown
}

/** The meaning of a field that was sent. JSON that is undefined removes the value. */
type Meaning = { readonly json: string | undefined } | { readonly says: string }

/** The option of a select for a value that is not one of its choices. */
export const kept = 'keep'

/** The name of the controls of a field. JSON has another one, so that it is read as it was shown. */
export function controlName({ field, input }: Pick<FieldState, 'field' | 'input'>): string {
  return `${input === 'json' ? 'json' : 'field'}:${field.name}`
}

/** True if the name of a control can have the name of the field. Browsers change line ends in it. */
export function isInForm({ name }: TypeField): boolean {
  return !/[\p{Cc}\p{Surrogate}]/u.test(name)
}

/** Returns the field as it shows the value of a node. */
export function stateOf(field: TypeField, value: unknown): FieldState {
  const kind = kindOf(field.schema)
  const choices = factsOf(field.schema, kind).choices.map(String)
  const texts = kind && textsOf(kind, choices, value)
  const json = value === undefined ? '' : JSON.stringify(value, null, 2)
  if (kind === undefined || texts === undefined) return { field, kind, input: 'json', texts: [json], choices, value }
  return { field, kind, input: kind.input, texts, choices, value }
}

/** Returns the field with the values that were sent. */
export function withSent(state: FieldState, form: URLSearchParams): FieldState {
  const json = `json:${state.field.name}`
  if (form.has(json)) return { ...state, input: 'json', texts: [lines(form.get(json) ?? '')] }
  if (!form.has(`shown:${state.field.name}`)) return state
  return { ...state, texts: form.getAll(`field:${state.field.name}`).map(lines) }
}

function lines(text: string): string {
  return text.replace(/\r\n?/g, '\n')
}

export function isSame(one: FieldState, other: FieldState): boolean {
  return one.input === other.input && JSON.stringify(one.texts) === JSON.stringify(other.texts)
}

/** Returns the new value of a field, as JSON. Undefined if it stays. @param before the field as it was shown */
export function changeOf(before: FieldState, sent: FieldState): Meaning | undefined {
  const meaning = meaningOf(sent)
  if (!isSame(before, sent)) return meaning
  // A value that the input shows in another kind is stored in the kind of the field.
  if ('says' in meaning || meaning.json === undefined) return undefined
  return isSameJson(meaning.json, before.value) ? undefined : meaning
}

function isSameJson(json: string, value: unknown): boolean {
  return JSON.stringify(JSON.parse(json)) === JSON.stringify(value)
}

/** Returns the values of the controls; undefined if they cannot express the value. */
function textsOf({ input }: FieldKind, choices: readonly string[], value: unknown): readonly string[] | undefined {
  const isEmpty = value === undefined || value === null
  switch (input) {
    case 'yes-no':
      return [isEmpty ? '' : typeof value === 'boolean' ? String(value) : kept]
    case 'select':
      return [isEmpty ? '' : isScalar(value) && choices.includes(String(value)) ? `:${value}` : kept]
    case 'checks':
      return asItems(value)?.map((item) => `:${item}`)
    case 'lines': {
      const items = asItems(value)
      return items && [items.join('\n')]
    }
    default:
      if (isEmpty) return ['']
      return isScalar(value) && isPlain(String(value)) ? [String(value)] : undefined
  }
}

function asItems(value: unknown): string[] | undefined {
  if (value === undefined || value === null) return []
  const items = [value].flat()
  if (!items.every((item) => isScalar(item) && isPlain(String(item)))) return undefined
  const texts = items.map(String)
  return texts.every((text) => text.trim() !== '' && !text.includes('\n')) ? texts : undefined
}

function isScalar(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number'
}

/** True for a text that a browser sends as it was shown. */
function isPlain(text: string): boolean {
  return /^(?:[\t\n]|[^\p{Cc}\p{Surrogate}])*$/u.test(text)
}

const number = /^-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?$/i

function meaningOf({ input, kind, texts, choices, value, field }: FieldState): Meaning {
  const [text = ''] = texts
  if (input === 'checks' || input === 'lines') return listOf(input === 'lines' ? text.split('\n') : texts, kind)
  if (text.trim() === '' && input !== 'text') return { json: undefined }
  switch (input) {
    case 'json':
      return isJson(text) ? { json: text.trim() } : { says: 'must be valid JSON, such as {"width": 20}.' }
    case 'whole':
      return /^-?(0|[1-9]\d*)$/.test(text.trim())
        ? { json: text.trim() }
        : { says: 'must be a whole number, such as 12.' }
    case 'number':
      return number.test(text.trim()) ? { json: text.trim() } : { says: 'must be a number, such as 12 or 0.5.' }
    case 'yes-no':
      return { json: text === kept ? JSON.stringify(value) : text === 'true' ? 'true' : 'false' }
    case 'select': {
      if (text === kept) return { json: JSON.stringify(value) }
      const chosen = factsOf(field.schema, kind).choices[choices.indexOf(text.slice(1))]
      return chosen === undefined ? { says: 'must be one of the choices.' } : { json: JSON.stringify(chosen) }
    }
    default:
      return text === '' ? { json: undefined } : { json: JSON.stringify(text) }
  }
}

function listOf(all: readonly string[], kind: FieldKind | undefined): Meaning {
  const items = all
    .map((item) => (kind?.input === 'checks' ? item.slice(1) : item.trim()))
    .filter((item) => item !== '')
  if (items.length === 0) return { json: undefined }
  if (kind?.base.type !== 'number') return { json: JSON.stringify(items, null, 2) }
  const wrong = items.find((item) => !number.test(item))
  return wrong === undefined
    ? { json: `[\n  ${items.join(',\n  ')}\n]` }
    : { says: 'must be a list of numbers, one a line.' }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
