/** Translates findings of the validator to messages of pydantic, with the limits of the spec. */

import type { Problem } from '../../base/errors.ts'
import { type Schema, schemaAt, schemaOf, typesOf } from './schemas.ts'

/** A finding of express-openapi-validator. `path` is a JSON pointer into {body, query, params, headers}. */
export interface Finding {
  readonly path: string
  readonly errorCode?: string
}

export interface SentData {
  readonly body: unknown
  readonly query: unknown
  readonly params: unknown
}

type Schemas = { readonly [P in keyof SentData]: Schema }

type Words = Omit<Problem, 'loc' | 'input'>

/** Returns one problem per location: of several findings, the most specific. */
export function toValidationErrors(findings: readonly Finding[], sent: SentData, schemas: Schemas): Problem[] {
  const problems = new Map<string, { readonly rank: number; readonly problem: Problem }>()
  for (const finding of findings) {
    const keyword = finding.errorCode?.split('.')[0] ?? ''
    const { loc, value, schema } = locate(finding.path, sent, schemas)
    if (fromAnotherAlternative(keyword, schema, value)) continue
    const words = wordsFor[keyword]?.(schema, loc[0] !== 'body') ?? unknownWords
    const problem = { loc, ...words, ...(words.type === 'missing' ? {} : inputOf(value)) }
    const place = JSON.stringify(loc)
    const rank = ranks.indexOf(keyword)
    const known = problems.get(place)
    if (known === undefined || rank < known.rank) problems.set(place, { rank, problem })
  }
  const found = [...problems.values()].map(({ problem }) => problem)
  return found.length > 0 ? found : [{ loc: ['body'], msg: 'Input has the wrong shape', type: 'value_error' }]
}

/** The invalid value, if it is short. Never the value that contains it. */
export function inputOf(value: unknown): { input?: unknown } {
  const small = typeof value === 'string' ? value.length <= 1000 : value === null || /number|boolean/.test(typeof value)
  return small ? { input: value } : {}
}

/** Fields of /auth/ requests that are never secret. Any other field may be a misspelt secret. */
const harmless: ReadonlySet<string> = new Set([
  'body.email',
  'body.new_email',
  'body.name',
  'body.access',
  'body.org_id',
  'body.node_id',
  'body.expires_at',
  'query.limit',
  'query.offset',
])

/** Removes the input if it may be a password or a token. @param path the path of the request */
export function hideSecrets(problem: Problem, path: string): Problem {
  const isSecret = path.startsWith('/auth/')
    ? !harmless.has(problem.loc.join('.'))
    : problem.loc.some((part) => typeof part === 'string' && /password|token|^invitation$/i.test(part))
  if (!isSecret) return problem
  const { input: _, ...rest } = problem
  return rest
}

interface Location {
  readonly loc: (string | number)[]
  readonly value: unknown
  readonly schema: Schema
}

const places: Readonly<Record<string, string>> = { params: 'path', headers: 'header' }

function locate(pointer: string, sent: SentData, schemas: Schemas): Location {
  const [place = 'body', ...steps] = pointer.split('/').slice(1)
  const way: (string | number)[] = []
  let value: unknown = place in sent ? sent[place as keyof SentData] : undefined // the condition checks it
  while (steps.length > 0) {
    // The name of an unknown field is not escaped, so the rest may be one name with slashes.
    const rest = steps.join('/')
    const name = has(value, rest) ? rest : (steps[0] ?? '').replaceAll('~1', '/').replaceAll('~0', '~')
    steps.splice(0, name === rest ? steps.length : 1)
    way.push(Array.isArray(value) ? Number(name) : name)
    value = has(value, name) ? value[name] : undefined
  }
  const given = schemaAt(place in schemas ? schemas[place as keyof Schemas] : {}, way) // the condition checks it
  const schema = alternativeOf(given, value)
  return { loc: [places[place] ?? place, ...way], value, schema }
}

/** The only alternative that has the type of the value, which has its limits. Otherwise the schema itself. */
function alternativeOf(schema: Schema, value: unknown): Schema {
  const meant = (schema.oneOf ?? []).filter((one) => typesOf(one).includes(typeOf(value)))
  const [only] = meant
  return only && meant.length === 1 ? schemaOf(only) : schema
}

function has(value: unknown, name: string): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
}

/**
 * True for findings to ignore. They belong to alternatives that are not meant, such as null for an object, or say that
 * no alternative matches. Problems within the intended alternative are reported separately.
 */
function fromAnotherAlternative(keyword: string, schema: Schema, value: unknown): boolean {
  if (keyword === 'anyOf' || keyword === 'oneOf' || keyword === 'if') return true
  return keyword === 'type' && typesOf(schema).includes(typeOf(value))
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value
}

/** Keywords, the most specific first. */
const ranks = [
  'required',
  'additionalProperties',
  'unevaluatedProperties',
  'type',
  'enum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minimum',
  'maximum',
  'format',
  'pattern',
]

const unknownWords: Words = { msg: 'Input has the wrong shape', type: 'value_error' }

export const extra: Words = { msg: 'Extra inputs are not permitted', type: 'extra_forbidden' }

/** Messages by keyword. `asText`: the value was text to parse, as in a query. */
const wordsFor: Readonly<Record<string, (schema: Schema, asText: boolean) => Words | undefined>> = {
  required: () => ({ msg: 'Field required', type: 'missing' }),
  additionalProperties: () => extra,
  unevaluatedProperties: () => extra,
  type: (schema, asText) => typeWords(schema, asText),
  minLength: ({ minLength: min_length = 0 }) => ({
    msg: `String should have at least ${count(min_length, 'character')}`,
    type: 'string_too_short',
    ctx: { min_length },
  }),
  maxLength: ({ maxLength: max_length = 0 }) => ({
    msg: `String should have at most ${count(max_length, 'character')}`,
    type: 'string_too_long',
    ctx: { max_length },
  }),
  minItems: ({ minItems: min_length = 0 }) => ({
    msg: `List should have at least ${count(min_length, 'item')}`,
    type: 'too_short',
    ctx: { min_length },
  }),
  maxItems: ({ maxItems = 0 }) => tooManyItems(maxItems),
  uniqueItems: () => ({ msg: 'List items should be unique', type: 'value_error' }),
  pattern: ({ pattern = '', 'x-pattern-message': message = `String should match pattern '${pattern}'` }) => ({
    msg: message,
    type: 'string_pattern_mismatch',
    ctx: { pattern },
  }),
  minimum: ({ minimum: ge = 0 }) => ({
    msg: `Input should be greater than or equal to ${ge}`,
    type: 'greater_than_equal',
    ctx: { ge },
  }),
  maximum: ({ maximum: le = 0 }) => ({
    msg: `Input should be less than or equal to ${le}`,
    type: 'less_than_equal',
    ctx: { le },
  }),
  enum: (schema) => {
    const expected = (schema.enum ?? []).filter((value) => value !== null).join(', ')
    return { msg: `Input should be ${expected.replace(/, (?=[^,]*$)/, ' or ')}`, type: 'enum', ctx: { expected } }
  },
  format: ({ format = '' }) => formats[format],
}

export function tooManyItems(max_length: number): Words {
  return { msg: `List should have at most ${count(max_length, 'item')}`, type: 'too_long', ctx: { max_length } }
}

const formats: Readonly<Record<string, Words>> = {
  uuid: { msg: 'Input should be a valid UUID', type: 'uuid_parsing' },
  'date-time': { msg: 'Input should be a valid datetime', type: 'datetime_parsing' },
  email: { msg: 'Input should be a valid e-mail address', type: 'value_error' },
}

function typeWords(schema: Schema, asText: boolean): Words {
  const wanted = typesOf(schema).find((type) => type !== 'null')
  if (wanted === 'integer') {
    return asText
      ? { msg: 'Input should be a valid integer, unable to parse string as an integer', type: 'int_parsing' }
      : { msg: 'Input should be a valid integer', type: 'int_type' }
  }
  if (wanted === 'boolean') return { msg: 'Input should be a valid boolean', type: 'bool_type' }
  if (wanted === 'array') return { msg: 'Input should be a valid list', type: 'list_type' }
  if (wanted === 'object') return { msg: 'Input should be an object', type: 'dict_type' }
  return { msg: 'Input should be a valid string', type: 'string_type' }
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
