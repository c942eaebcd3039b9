/**
 * Kinds of fields, for people, and the schemas that say the same. One table has both directions, so that the form of a type
 * and the form of its pages agree. A schema that the table cannot express has no kind. Forms show it as JSON.
 */

/** The schema of one field, as the definition of a type has it. */
export type FieldSchema = Readonly<Record<string, unknown>>

/** The control of a form that takes the value of a field. `lines` and `checks` are for lists. */
type FieldInput =
  | ('line' | 'text' | 'whole' | 'number' | 'yes-no' | 'date' | 'date-time' | 'url' | 'email')
  | ('select' | 'lines' | 'checks')

/** Keywords for the least and the greatest allowed size. */
interface Range {
  readonly least: string
  readonly most: string
  /** The unit of the range. */
  readonly unit: 'value' | 'characters' | 'items'
}

export interface FieldKind {
  /** The name in forms. */
  readonly name: KindName
  /** The name for people. */
  readonly title: string
  readonly input: FieldInput
  /** The keywords that make a schema one of this kind. For a list, those of its items. */
  readonly base: FieldSchema
  readonly isList: boolean
  /** The values that can be chosen. Undefined: any value. */
  readonly choices: 'texts' | 'numbers' | undefined
  readonly range: Range | undefined
}

/** The facts of a field that a form edits. */
export interface FieldFacts {
  /** Empty if the field has only its name. */
  readonly label: string
  readonly help: string
  readonly choices: readonly (string | number)[]
  readonly least: number | undefined
  readonly most: number | undefined
}

const values: Range = { least: 'minimum', most: 'maximum', unit: 'value' }
const characters: Range = { least: 'minLength', most: 'maxLength', unit: 'characters' }
const items: Range = { least: 'minItems', most: 'maxItems', unit: 'items' }

const kindNames = [
  ...(['text', 'long-text', 'whole', 'number', 'yes-no', 'date', 'date-time', 'url', 'email'] as const),
  ...(['choice', 'number-choice', 'texts', 'numbers', 'dates', 'urls', 'choices'] as const),
] as const
type KindName = (typeof kindNames)[number]

type Rest = Partial<Pick<FieldKind, 'range' | 'choices' | 'isList'>>

function kind(name: KindName, title: string, input: FieldInput, base: FieldSchema, rest: Rest = {}): FieldKind {
  return { name, title, input, base, isList: false, choices: undefined, range: undefined, ...rest }
}

const list = { isList: true, range: items } as const

/** The kinds in the order in which forms offer them. */
export const fieldKinds: readonly FieldKind[] = [
  kind('text', 'Text', 'line', { type: 'string' }, { range: characters }),
  kind('long-text', 'Long text', 'text', { type: 'string', 'x-multiline': true }, { range: characters }),
  kind('whole', 'Whole number', 'whole', { type: 'integer' }, { range: values }),
  kind('number', 'Number', 'number', { type: 'number' }, { range: values }),
  kind('yes-no', 'Yes or no', 'yes-no', { type: 'boolean' }),
  kind('date', 'Date', 'date', { type: 'string', format: 'date' }),
  kind('date-time', 'Date and time', 'date-time', { type: 'string', format: 'date-time' }),
  kind('url', 'Web address', 'url', { type: 'string', format: 'uri' }),
  kind('email', 'E-mail address', 'email', { type: 'string', format: 'email' }),
  kind('choice', 'Choice', 'select', { type: 'string' }, { choices: 'texts' }),
  kind('number-choice', 'Choice of numbers', 'select', { type: 'number' }, { choices: 'numbers' }),
  kind('texts', 'List of texts', 'lines', { type: 'string' }, list),
  kind('numbers', 'List of numbers', 'lines', { type: 'number' }, list),
  kind('dates', 'List of dates', 'lines', { type: 'string', format: 'date' }, list),
  kind('urls', 'List of web addresses', 'lines', { type: 'string', format: 'uri' }, list),
  kind('choices', 'List of choices', 'checks', { type: 'string' }, { ...list, choices: 'texts' }),
]

const byName = new Map<string, FieldKind>(fieldKinds.map((one) => [one.name, one]))

/** Finds a kind by its name in forms. */
export function findKind(name: string): FieldKind | undefined {
  return byName.get(name)
}

/** Returns the kind of a schema. Undefined if the table cannot express it. */
export function kindOf(schema: FieldSchema): FieldKind | undefined {
  if (Object.hasOwn(schema, 'const')) return undefined
  if (typeOf(schema) !== 'array') return scalarKind(schema)
  const inner = schema.items
  // A line of a form is never null.
  if (!isSchema(inner) || Array.isArray(inner.type) || Object.hasOwn(schema, 'enum')) return undefined
  if (Object.hasOwn(inner, 'const')) return undefined
  const one = scalarKind(inner)
  return one && listOf.get(one.name)
}

/** Lists by the kind of their items. */
const listOf: ReadonlyMap<KindName, FieldKind | undefined> = new Map(
  (
    [
      ['text', 'texts'],
      ['number', 'numbers'],
      ['date', 'dates'],
      ['url', 'urls'],
      ['choice', 'choices'],
    ] as const
  ).map(([item, whole]) => [item, byName.get(whole)]),
)

function scalarKind(schema: FieldSchema): FieldKind | undefined {
  if (Object.hasOwn(schema, 'enum')) return choiceKind(schema.enum)
  const type = typeOf(schema)
  if (type === 'string' && schema.format !== undefined)
    return fieldKinds.find(({ base, isList }) => !isList && base.format === schema.format)
  if (type === 'string') return byName.get(schema['x-multiline'] === true ? 'long-text' : 'text')
  if (type === 'integer') return byName.get('whole')
  if (type === 'number') return byName.get('number')
  return type === 'boolean' ? byName.get('yes-no') : undefined
}

function choiceKind(choices: unknown): FieldKind | undefined {
  if (!Array.isArray(choices) || choices.length === 0) return undefined
  if (choices.every(isChoice)) return byName.get('choice')
  return choices.every((one) => typeof one === 'number') ? byName.get('number-choice') : undefined
}

/** True for a text that is one line of a form, without spaces around it. */
function isChoice(value: unknown): value is string {
  return (
    typeof value === 'string' && value !== '' && value === value.trim() && !/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(value)
  )
}

/** Returns the type of a schema, without null. */
function typeOf({ type }: FieldSchema): unknown {
  return Array.isArray(type) ? type.find((one) => one !== 'null') : type
}

function isSchema(value: unknown): value is FieldSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Reads the facts of a schema. Without a kind, it has only a label and help. */
export function factsOf(schema: FieldSchema, of: FieldKind | undefined): FieldFacts {
  const inner = of?.isList && isSchema(schema.items) ? schema.items : schema
  return {
    label: textIn(schema.title),
    help: textIn(schema.description),
    choices: of?.choices && Array.isArray(inner.enum) ? inner.enum : [],
    least: of?.range && numberIn(schema[of.range.least]),
    most: of?.range && numberIn(schema[of.range.most]),
  }
}

function textIn(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function numberIn(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

/**
 * Makes the schema of a kind with facts. Facts that `before` already has change nothing there. Its other keywords stay in
 * their order, if the kind allows them.
 */
export function schemaOf(to: FieldKind, facts: FieldFacts, before: FieldSchema = {}): FieldSchema {
  const of = kindOf(before)
  const schema = new Map(Object.entries(of === to ? before : converted(to, of, before)))
  const known = factsOf(before, of)
  const put = (name: string, value: unknown) => {
    if (value === undefined) schema.delete(name)
    else schema.set(name, value)
  }
  if (facts.label !== known.label) put('title', facts.label || undefined)
  if (facts.help !== known.help) put('description', facts.help || undefined)
  if (to.range && (of !== to || facts.least !== known.least)) put(to.range.least, facts.least)
  if (to.range && (of !== to || facts.most !== known.most)) put(to.range.most, facts.most)
  if (to.choices && (of !== to || JSON.stringify(facts.choices) !== JSON.stringify(known.choices))) {
    const inner = schema.get('items')
    if (to.isList) put('items', { ...(isSchema(inner) ? inner : {}), enum: facts.choices })
    else put('enum', facts.choices)
  }
  return Object.fromEntries(schema)
}

const annotations: readonly string[] = ['title', 'description', 'deprecated', '$comment']
/** Annotations that are values of the field. */
const valueWords: readonly string[] = ['default', 'examples']

/** Returns a schema of another kind. It keeps the keywords that the kind allows. */
function converted(to: FieldKind, of: FieldKind | undefined, before: FieldSchema): FieldSchema {
  const isSame = of !== undefined && of.isList === to.isList && of.base.type === to.base.type
  const keepsTexts = ['text', 'long-text']
  const keepsPattern = of !== undefined && keepsTexts.includes(of.name) && keepsTexts.includes(to.name)
  const kept = Object.entries(before).filter(
    ([name]) =>
      annotations.includes(name) ||
      (name.startsWith('x-') && name !== 'x-multiline') ||
      (isSame && valueWords.includes(name) && !to.choices) ||
      (keepsPattern && name === 'pattern'),
  )
  return { ...Object.fromEntries(kept), ...(to.isList ? { type: 'array', items: to.base } : to.base) }
}
