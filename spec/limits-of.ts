/** The limits by name: of the server, of Git storage and of the index. Writes them into documents. */
import * as git from '../gitstore/limits.ts'
import * as index from '../index/limits.ts'
import * as server from '../server/base/limits.ts'

const catalogs: readonly object[] = [server, git, index]
const limits: Readonly<Record<string, number>> = Object.assign({}, ...catalogs)

/** The keyword for the most of each type of JSON. */
const keywords: Readonly<Record<string, string>> = { string: 'maxLength', array: 'maxItems', integer: 'maximum' }

/**
 * Returns the document with values for `x-limit: name`, as the keyword of the schema's type, for `x-limit-as-base64`,
 * and for `{limits.name}` in descriptions.
 *
 * @throws Error: the limit is unknown, or the schema has another type
 */
export function withLimits<T>(source: T): T {
  return expanded(source) as T
}

function expanded(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(expanded)
  if (typeof value !== 'object' || value === null) return value
  const schema: Readonly<Record<string, unknown>> = { ...value }
  return Object.fromEntries(Object.entries(schema).map(([key, inner]) => expandedEntry(key, inner, schema)))
}

function expandedEntry(key: string, value: unknown, schema: Readonly<Record<string, unknown>>): [string, unknown] {
  if (key === 'description' && typeof value === 'string') return [key, withValues(value)]
  if (key === 'x-limit-as-base64') return ['maxLength', 4 * Math.ceil(limitOf(`${value}`) / 3)]
  if (key !== 'x-limit') return [key, expanded(value)]
  const keyword = keywords[`${[schema.type].flat()[0]}`]
  if (keyword === undefined) throw new Error(`x-limit: ${value} is next to a type without a limit`)
  return [keyword, limitOf(`${value}`)]
}

/**
 * Replaces `{limits.name}` by the limit in its unit.
 *
 * @throws Error: the limit is unknown, a limit is missing in the template, or two catalogs have its name
 */
export function limitsOf(template: string): string {
  const names = catalogs.flatMap((catalog) => Object.keys(catalog))
  const twice = names.filter((name, at) => names.indexOf(name) !== at)
  if (twice.length > 0) throw new Error(`Two catalogs of limits have ${twice.join(', ')}`)
  const missing = names.filter((name) => !template.includes(`{limits.${name}}`))
  if (missing.length > 0) throw new Error(`spec/limits.template.md does not have ${missing.join(', ')}`)
  return withValues(template)
}

function withValues(text: string): string {
  return text.replaceAll(/\{limits\.(\w+)\}/g, (_, name: string) => shown(name, limitOf(name)))
}

/** @throws Error: the limit is unknown */
function limitOf(name: string): number {
  const limit = limits[name]
  if (limit === undefined) throw new Error(`The limit ${name} is unknown`)
  return limit
}

function shown(name: string, value: number): string {
  if (name.endsWith('Ms')) return inTime(value)
  return name.endsWith('Bytes') ? inBytes(value) : grouped(value)
}

function inTime(ms: number): string {
  return ms < 600_000 ? `${ms / 1_000} s` : `${ms / 60_000} minutes`
}

function inBytes(bytes: number): string {
  const units = [
    [2 ** 30, 'GiB'],
    [2 ** 20, 'MiB'],
    [2 ** 10, 'KiB'],
  ] as const
  const [size, unit] = units.find(([size]) => bytes >= size && bytes > 1_024) ?? [1, 'bytes']
  return `${grouped(bytes / size)} ${unit}`
}

function grouped(number: number): string {
  return number.toLocaleString('en')
}
