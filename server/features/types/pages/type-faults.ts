/** Errors of the API at the controls of the form of a type. */

import type { Problem } from '../../../base/errors.ts'
import { asSentence, brokenField } from '../../../pages/text/broken-rules.ts'
import type { Faults } from './type-definition.ts'
import type { TypeFields } from './type-fields.ts'

type Loc = Problem['loc']

/** Controls of a field by the keyword of its schema. */
const keywordControls: Readonly<Record<string, string>> = {
  ...{ title: 'label', description: 'help', enum: 'choices', items: 'choices' },
  ...{ minimum: 'least', minLength: 'least', minItems: 'least', exclusiveMinimum: 'least' },
  ...{ maximum: 'most', maxLength: 'most', maxItems: 'most', exclusiveMaximum: 'most' },
}
const ruleControls: Readonly<Record<string, string>> = { title: 'label', inverse: 'inverse', to: 'to', min: 'min' }
const memberControls: readonly unknown[] = ['title', 'plural', 'aliases', 'enforcement', 'columns']

const badName = 'A name has 1 to 64 small letters, digits, - and _, and begins with a letter.'

/** Returns the errors by control. Undefined fields: the definition is shown as JSON. */
export function faultsOfProblems(problems: readonly Problem[], fields: TypeFields | undefined): Faults {
  const faults = new Map<string, string[]>()
  for (const problem of problems) {
    const { loc } = problem
    const control = loc[0] === 'path' ? 'name' : fields ? controlAt(loc.slice(2), fields) : ''
    faults.set(control, [...(faults.get(control) ?? []), control === '' ? withPlace(problem) : withoutPlace(problem)])
  }
  return faults
}

/** Words an error that no control shows. Most sentences begin with their place. */
function withPlace({ loc, msg }: Problem): string {
  const [member, ...rest] = loc.slice(2)
  if (member === undefined || msg.startsWith(String(member))) return asSentence(msg)
  return `${[member, ...rest].join('.')}: ${asSentence(msg)}`
}

/** Words an error below its control, without the place that the form shows already. */
function withoutPlace(problem: Problem): string {
  const { loc, type, msg } = problem
  if (loc[0] === 'path' && type === 'string_pattern_mismatch') return badName
  const place = /^[^\s["]+(?:\["[^"]*"\]|\[\d+\]|[^\s["]+)* (?=(?:must|is|has|leaves)\b)/u
  return brokenField([{ ...problem, msg: msg.replace(place, 'This ') }]).says
}

/** Returns the control for a place in a definition; '' if none shows it. */
function controlAt([member, ...rest]: Loc, fields: TypeFields): string {
  if (memberControls.includes(member)) return String(member)
  const [first, second, third] = rest
  if (member === 'schema' && first === 'properties') return fieldControl(fields, second, String(third), '')
  if (member === 'connections') {
    const at = fields.connections.findIndex(({ name }) => name === first)
    return at < 0 ? '' : `c${at}.${ruleControls[String(second)] ?? (second === 'max' ? 'max' : 'name')}`
  }
  if (member === 'parents')
    return ['types', 'min', 'max'].includes(String(first)) ? `parents.${first}` : 'parents.types'
  if (member !== 'template') return ''
  if (first === 'text_content') return 'text'
  return first === 'tags' ? 'tags' : fieldControl(fields, second, '', 'value')
}

function fieldControl({ fields }: TypeFields, name: Loc[number] | undefined, keyword: string, other: string): string {
  const at = fields.findIndex((row) => row.name === name)
  const row = fields[at]
  if (row === undefined) return ''
  if (other !== '') return row.kind === 'json' ? '' : `f${at}.${other}`
  const known = Object.hasOwn(keywordControls, keyword) ? keywordControls[keyword] : undefined
  const isOwn = keyword === 'title' || keyword === 'description'
  if (row.kind === 'json') return `f${at}.${isOwn ? known : 'json'}`
  return `f${at}.${known ?? 'name'}`
}
