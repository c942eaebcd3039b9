/** The validator's findings in the words of contract §5, which are pydantic's. */

import type { Problem } from '../errors.ts'

/** As express-openapi-validator reports it: `path` is a JSON pointer into {body, query, params, headers}. */
export interface Finding {
  readonly path: string
  readonly message: string
  readonly errorCode?: string
}

export interface SentData {
  readonly body: unknown
  readonly query: unknown
  readonly params: unknown
}

type Words = Omit<Problem, 'loc' | 'input'>

/** One entry for each finding; the validator tells limits only within its messages. */
export function problemsOf(findings: readonly Finding[], sent: SentData): Problem[] {
  const problems: Problem[] = []
  for (const finding of findings) {
    const { loc, value } = locate(finding.path, sent)
    const words = wordsFor(finding, loc[0] !== 'body')
    if (words === undefined) continue
    problems.push({ loc, ...words, ...(words.type === 'missing' ? {} : inputOf(value)) })
  }
  return problems.length > 0 ? problems : [{ loc: ['body'], msg: 'Input has the wrong shape', type: 'value_error' }]
}

/** Only what was wrong itself, never what encloses it, and nothing that would fill the answer. */
export function inputOf(value: unknown): { input?: unknown } {
  const small = typeof value === 'string' ? value.length <= 1000 : value === null || /number|boolean/.test(typeof value)
  return small ? { input: value } : {}
}

/** The problem without its input where that may be a password or a token. */
export function hideSecrets(problem: Problem): Problem {
  if (!problem.loc.some((part) => typeof part === 'string' && /password|token/i.test(part))) return problem
  const { input: _, ...rest } = problem
  return rest
}

const places: Readonly<Record<string, string>> = { params: 'path', headers: 'header' }

function locate(pointer: string, sent: SentData): { loc: (string | number)[]; value: unknown } {
  const [place = 'body', ...steps] = pointer.split('/').slice(1)
  const loc: (string | number)[] = [places[place] ?? place]
  let value: unknown = place in sent ? sent[place as keyof SentData] : undefined // the line before asked
  while (steps.length > 0) {
    // The name of an unknown field is not escaped, so the rest may be one name with slashes in it.
    const rest = steps.join('/')
    const name = has(value, rest) ? rest : (steps[0] ?? '').replaceAll('~1', '/').replaceAll('~0', '~')
    steps.splice(0, name === rest ? steps.length : 1)
    loc.push(Array.isArray(value) ? Number(name) : name)
    value = has(value, name) ? value[name] : undefined
  }
  return { loc, value }
}

function has(value: unknown, name: string): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
}

/** `asText`: what was sent is text that had to be read as something else, as in a query. */
function wordsFor({ errorCode = '', message }: Finding, asText: boolean): Words | undefined {
  const [keyword = ''] = errorCode.split('.')
  return keywords[keyword]?.(message, asText) ?? { msg: `Value error, ${message}`, type: 'value_error' }
}

const keywords: Readonly<Record<string, (message: string, asText: boolean) => Words | undefined>> = {
  required: () => ({ msg: 'Field required', type: 'missing' }),
  additionalProperties: extra,
  unevaluatedProperties: extra,
  type: (message, asText) => typeWords(message, asText),
  minLength: (message) => {
    const min_length = numberIn(message)
    return {
      msg: `String should have at least ${count(min_length, 'character')}`,
      type: 'string_too_short',
      ctx: { min_length },
    }
  },
  maxLength: (message) => {
    const max_length = numberIn(message)
    return {
      msg: `String should have at most ${count(max_length, 'character')}`,
      type: 'string_too_long',
      ctx: { max_length },
    }
  },
  minItems: (message) => {
    const min_length = numberIn(message)
    return { msg: `List should have at least ${count(min_length, 'item')}`, type: 'too_short', ctx: { min_length } }
  },
  maxItems: (message) => {
    const max_length = numberIn(message)
    return { msg: `List should have at most ${count(max_length, 'item')}`, type: 'too_long', ctx: { max_length } }
  },
  uniqueItems: () => ({ msg: 'Value error, the items are not unique', type: 'value_error' }),
  pattern: (message) => {
    const pattern = /"(.*)"$/s.exec(message)?.[1] ?? ''
    return { msg: `String should match pattern '${pattern}'`, type: 'string_pattern_mismatch', ctx: { pattern } }
  },
  minimum: (message) => {
    const ge = numberIn(message)
    return { msg: `Input should be greater than or equal to ${ge}`, type: 'greater_than_equal', ctx: { ge } }
  },
  maximum: (message) => {
    const le = numberIn(message)
    return { msg: `Input should be less than or equal to ${le}`, type: 'less_than_equal', ctx: { le } }
  },
  enum: (message) => {
    const expected = /: (.*)$/s.exec(message)?.[1] ?? ''
    return { msg: `Input should be ${expected.replace(/, (?=[^,]*$)/, ' or ')}`, type: 'enum', ctx: { expected } }
  },
  format: (message) => formats[/"(.*)"$/.exec(message)?.[1] ?? ''],
  // What these found in their branches is reported beside them.
  anyOf: () => undefined,
  oneOf: () => undefined,
  if: () => undefined,
}

const formats: Readonly<Record<string, Words>> = {
  uuid: { msg: 'Input should be a valid UUID', type: 'uuid_parsing' },
  'date-time': { msg: 'Input should be a valid datetime', type: 'datetime_parsing' },
  email: { msg: 'Value error, not a valid e-mail address', type: 'value_error' },
}

function extra(): Words {
  return { msg: 'Extra inputs are not permitted', type: 'extra_forbidden' }
}

function typeWords(message: string, asText: boolean): Words {
  const wanted = message.replace('must be ', '').split(',')[0]
  if (wanted === 'integer') {
    return asText
      ? { msg: 'Input should be a valid integer, unable to parse string as an integer', type: 'int_parsing' }
      : { msg: 'Input should be a valid integer', type: 'int_type' }
  }
  if (wanted === 'number')
    return { msg: 'Input should be a valid number', type: asText ? 'float_parsing' : 'float_type' }
  if (wanted === 'boolean')
    return { msg: 'Input should be a valid boolean', type: asText ? 'bool_parsing' : 'bool_type' }
  if (wanted === 'array') return { msg: 'Input should be a valid list', type: 'list_type' }
  if (wanted === 'object') return { msg: 'Input should be an object', type: 'dict_type' }
  return { msg: 'Input should be a valid string', type: 'string_type' }
}

function numberIn(message: string): number {
  return Number(/-?\d+(\.\d+)?/.exec(message)?.[0])
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
