/** Judges one node by a filter. Columns judge many nodes, with the same tests of values. */

import type { Condition, Filter, Subject } from './filter.ts'
import { valueTestOf } from './value-tests.ts'
import { scalarOf, textValue, type Value, valuesAt, valuesOf } from './values.ts'

/** The fields of a node that filters read. */
export interface MatchedNode {
  readonly id: string
  readonly title: string
  readonly tags: readonly string[]
  readonly properties: Readonly<Record<string, unknown>>
  /** ISO 8601. */
  readonly created_at: string
  /** ISO 8601. */
  readonly updated_at: string
}

/** Answers questions about the edges of the organisation. */
export interface EdgeFacts {
  hasParent(nodeId: string, parentId: string): boolean
  /** True if the node is `ancestorId` or a descendant of it. */
  isUnder(nodeId: string, ancestorId: string): boolean
  /** True if the node has a connection of the type. @param targetId only one to this node counts */
  isConnected(nodeId: string, type: string, targetId?: string): boolean
}

export type Match = (node: MatchedNode, edges: EdgeFacts) => boolean

/** Compiles a filter. */
export function matchOf(filter: Filter): Match {
  if ('all' in filter) {
    const matches = filter.all.map(matchOf)
    return (node, edges) => matches.every((match) => match(node, edges))
  }
  if ('any' in filter) {
    const matches = filter.any.map(matchOf)
    return (node, edges) => matches.some((match) => match(node, edges))
  }
  if ('not' in filter) {
    const match = matchOf(filter.not)
    return (node, edges) => !match(node, edges)
  }
  return edgeMatchOf(filter) ?? valueMatchOf(filter)
}

function valueMatchOf(condition: Condition): Match {
  const { test, isNegated } = valueTestOf(condition)
  return (node) => subjectValues(node, condition).some(test) !== isNegated
}

/** Returns the match of a condition on edges. Undefined for other conditions. */
function edgeMatchOf(condition: Condition): Match | undefined {
  const { op, value } = condition
  if ('connection' in condition) {
    const { connection } = condition
    if (op === 'exists') return ({ id }, edges) => edges.isConnected(id, connection) === value
    const targets = textsOf(value)
    return ({ id }, edges) => targets.some((target) => edges.isConnected(id, connection, target))
  }
  if (!('field' in condition)) return undefined
  const [node = ''] = textsOf(value)
  if (condition.field === 'parent') return ({ id }, edges) => edges.hasParent(id, node)
  if (condition.field === 'under') return ({ id }, edges) => edges.isUnder(id, node)
  return undefined
}

/** The ids among the values of a condition on edges, in lower case. Other values are the id of no node. */
export function textsOf(value: Condition['value']): string[] {
  return [value].flat().flatMap((one) => (typeof one === 'string' ? [one.toLowerCase()] : []))
}

/** Returns the values that a condition tests, or a list sorts by. Edges have none. */
export function subjectValues(node: MatchedNode, subject: Subject): Value[] {
  if ('connection' in subject) return []
  if ('property' in subject) {
    const { property } = subject
    return valuesAt(node.properties, typeof property === 'string' ? [property] : property)
  }
  switch (subject.field) {
    case 'type':
      return valuesAt(node.properties, ['type'])
    case 'title':
      return valuesOf(node.title)
    case 'tag':
      return tagsWithin(node.tags).map(textValue)
    case 'id':
    case 'created_at':
    case 'updated_at':
      return [scalarOf(node[subject.field])].filter((one) => one !== undefined)
    default:
      return []
  }
}

/** Lists tags with the tags above them: `math/algebra` is also in `math`. */
function tagsWithin(tags: readonly string[]): string[] {
  const all = tags.flatMap((tag) => {
    const parts = tag.split('/')
    return parts.map((_, n) => parts.slice(0, n + 1).join('/'))
  })
  return [...new Set(all)]
}
