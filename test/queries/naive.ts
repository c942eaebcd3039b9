/** The meaning of filters, sorts and facets, as plainly as it can be written. Slow. */

import type { Condition, Filter } from '../../index/properties/filter.ts'

export interface PlainNode {
  readonly id: string
  readonly title: string
  readonly tags: readonly string[]
  readonly properties: Readonly<Record<string, unknown>>
  readonly created_at: string
  readonly updated_at: string
  readonly parents: readonly string[]
  readonly connections: readonly { readonly type: string; readonly target: string }[]
}

export interface PlainSort {
  readonly by: { readonly property: string | readonly string[] } | { readonly field: string }
  readonly desc: boolean
}

type Plain = boolean | number | string | object

const noCase = (text: string) => text.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC')

export function matches(filter: Filter, node: PlainNode, all: readonly PlainNode[]): boolean {
  if ('all' in filter) return filter.all.every((one) => matches(one, node, all))
  if ('any' in filter) return filter.any.some((one) => matches(one, node, all))
  if ('not' in filter) return !matches(filter.not, node, all)
  if (filter.op === 'ne') return !matches({ ...filter, op: 'eq' }, node, all)
  if (filter.op === 'not_in') return !matches({ ...filter, op: 'in' }, node, all)
  if ('connection' in filter) {
    const ends = node.connections.filter(({ type }) => type === filter.connection)
    if (filter.op === 'exists') return ends.length > 0 === filter.value
    return ends.some(({ target }) => [filter.value].flat().includes(target))
  }
  if ('field' in filter && filter.field === 'parent') return node.parents.includes(String(filter.value))
  if ('field' in filter && filter.field === 'under') return isUnder(node, String(filter.value), all)
  const values = valuesBy(filter, node)
  if (filter.op === 'exists') return values.length > 0 === filter.value
  return values.some((value) => passes(filter, value))
}

function isUnder(node: PlainNode, ancestor: string, all: readonly PlainNode[], seen = new Set<string>()): boolean {
  if (node.id === ancestor) return true
  if (seen.has(node.id)) return false
  seen.add(node.id)
  return node.parents.some((id) => {
    const parent = all.find((one) => one.id === id)
    return parent === undefined ? false : isUnder(parent, ancestor, all, seen)
  })
}

function valuesBy(by: Condition | PlainSort['by'], node: PlainNode): Plain[] {
  if ('property' in by) return flat(walk(node.properties, [by.property].flat()))
  if (!('field' in by)) return []
  if (by.field === 'type') return flat([node.properties.type])
  if (by.field === 'tag')
    return node.tags.flatMap((tag) => tag.split('/').map((_, n, parts) => parts.slice(0, n + 1).join('/')))
  return [node[by.field as 'id' | 'title' | 'created_at' | 'updated_at']]
}

function walk(json: unknown, [name, ...more]: readonly string[]): unknown[] {
  if (name === undefined) return [json]
  if (Array.isArray(json)) return json.flatMap((one) => walk(one, [name, ...more]))
  if (json === null || typeof json !== 'object' || !Object.keys(json).includes(name)) return []
  return walk((json as Record<string, unknown>)[name], more)
}

function flat(json: unknown): Plain[] {
  if (Array.isArray(json)) return json.flatMap(flat)
  return json === null || json === undefined ? [] : [json as Plain]
}

function passes({ op, value: operand }: Condition, value: Plain): boolean {
  const operands = [operand].flat()
  const text = typeof value === 'string' ? counted(value) : undefined
  switch (op) {
    case 'eq':
    case 'in':
      return operands.some((one) => (typeof one === 'string' ? one.normalize('NFC') === text : one === value))
    case 'is':
      return operands.some((one) =>
        typeof one === 'string' ? text !== undefined && noCase(one) === noCase(text) : one === value,
      )
    case 'starts_with':
      return text !== undefined && noCase(text).startsWith(noCase(String(operands[0])))
    case 'contains':
      return text !== undefined && noCase(text).includes(noCase(String(operands[0])))
    default:
      return isOrdered(op, value, operands[0] ?? '')
  }
}

/** A longer text counts by its beginning, and equals nothing. */
function counted(text: string): string {
  const points = Array.from(text)
  return points.length > 1_000 ? `${points.slice(0, 1_000).join('').normalize('NFC')}\0` : text.normalize('NFC')
}

function isOrdered(op: string, value: Plain, operand: boolean | number | string): boolean {
  const rank = rankOf(value)
  const other = rankOf(operand)
  if (rank[0] !== other[0] || rank[0] === 5) return false
  if (rank[0] === 3) {
    const from = other[1] as number
    const isDay = String(operand).length === 10
    const at = rank[1] as number
    if (op === 'lt') return at < from
    if (op === 'ge') return at >= from
    const end = from + 86_400_000
    if (op === 'le') return isDay ? at < end : at <= from
    return isDay ? at >= end : at > from
  }
  const order = compareRanks(rank, other)
  if (op === 'lt') return order < 0
  if (op === 'le') return order <= 0
  return op === 'gt' ? order > 0 : order >= 0
}

type Rank = readonly [kind: number, value: number | string]

function rankOf(value: Plain): Rank {
  if (typeof value === 'boolean') return [1, Number(value)]
  if (typeof value === 'number') return [2, value]
  if (typeof value !== 'string') return [5, 0]
  const instant = dateOf(value)
  return instant === undefined ? [4, noCase(counted(value))] : [3, instant]
}

/** Reads a date in another way than the product. Its parts must be the same after it is printed. */
function dateOf(text: string): number | undefined {
  const [, day, time, seconds = ':00', zone = 'Z'] =
    /^(\d{4}-\d\d-\d\d)(?:[Tt]([01]\d|2[0-3]):([0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?)()([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)?)?$/.exec(
      text,
    ) ?? []
  if (day === undefined) return undefined
  const start = new Date(`${day}T00:00:00Z`)
  if (Number.isNaN(start.getTime()) || start.toISOString().slice(0, 10) !== day) return undefined
  if (time === undefined) return start.getTime()
  void seconds
  void zone
  const offset = /([+-])(\d\d):(\d\d)$/.exec(text.slice(11))
  const minutes = offset ? (Number(offset[2]) * 60 + Number(offset[3])) * (offset[1] === '-' ? -1 : 1) : 0
  // Without a zone, only forms without a fraction are dates.
  const [, hh = '0', mm = '0', ss = '0', fraction = '0'] =
    /^(\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?/.exec(text.slice(11)) ?? []
  return (
    start.getTime() +
    (Number(hh) * 60 + Number(mm) - minutes) * 60_000 +
    Number(ss) * 1_000 +
    Number(`0.${fraction}`) * 1_000
  )
}

function compareRanks([kind, a]: Rank, [other, b]: Rank): number {
  if (kind !== other) return kind - other
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b))
  return a < b ? -1 : a > b ? 1 : 0
}

/** Sorts nodes. Those without a value come last, and what sorts alike is in the order of creation, then of ids. */
export function sorted(nodes: readonly PlainNode[], sort: readonly PlainSort[]): PlainNode[] {
  return [...nodes].sort((a, b) => {
    for (const { by, desc } of sort) {
      const [one, other] = [edge(valuesBy(by, a), desc), edge(valuesBy(by, b), desc)]
      if (one === undefined && other === undefined) continue
      if (one === undefined) return 1
      if (other === undefined) return -1
      const order = compareRanks(one, other)
      if (order !== 0) return desc ? -order : order
    }
    if (a.created_at !== b.created_at) return a.created_at < b.created_at ? -1 : 1
    return a.id < b.id ? -1 : 1
  })
}

function edge(values: readonly Plain[], desc: boolean): Rank | undefined {
  const ranks = values.map(rankOf).sort(compareRanks)
  return desc ? ranks.at(-1) : ranks[0]
}

/** The shown form of a text of which only the beginning counts. */
function shown(text: string): string {
  return Array.from(text).length > 1_000 ? text.replace(/\0$/, '…') : text
}

export function facet(nodes: readonly PlainNode[], by: PlainSort['by']) {
  const counts = new Map<unknown, number>()
  let missing = 0
  for (const node of nodes) {
    const values = valuesBy(by, node)
    if (values.length === 0) missing++
    const scalars = values
      .filter((value) => typeof value !== 'object')
      .map((value) => (typeof value === 'string' ? shown(counted(value)) : value))
    for (const value of new Set(scalars)) counts.set(value, (counts.get(value) ?? 0) + 1)
  }
  return { counts, missing }
}
