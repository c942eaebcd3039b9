/** Rules of a type for connections and parents. The caller looks up the types of the other ends. */

import { placeOf, type Report } from './checker.ts'
import type { ConnectionRule, ParentRule, TypeDefinition } from './definition.ts'
import { counted, either, pathOf, quote, type Steps } from './wording.ts'

/** Edges that a node holds. */
export interface NodeEdges {
  readonly parents: readonly { readonly id: string }[]
  readonly connections: readonly { readonly id: string; readonly target: string; readonly type: string }[]
}

type EdgeRules = Pick<TypeDefinition, 'connections' | 'other_connections' | 'parents'>

/** The types of nodes at the other ends of edges. */
export interface Ends {
  /** The property `type` of a node. Null if it is not a text, and undefined if there is no such node. */
  readonly typeOf: (nodeId: string) => string | null | undefined
  /** The same name for all spellings of a type. */
  readonly nameOf: (text: string) => string
}

const noEdges: NodeEdges = { parents: [], connections: [] }

/** The edges of `after` that `before` has not, or has with another type or target. */
export function newEdges(before: NodeEdges = noEdges, after: NodeEdges): NodeEdges {
  const parents = new Set(before.parents.map(({ id }) => id))
  const known = new Map(before.connections.map((one) => [one.id, one]))
  return {
    parents: after.parents.filter(({ id }) => !parents.has(id)),
    connections: after.connections.filter(({ id, target, type }) => {
      const same = known.get(id)
      return same?.target !== target || same.type !== type
    }),
  }
}

/** Lists the nodes whose types decide whether these edges follow the rules. */
export function endsToLookUp(rules: EdgeRules, { parents, connections }: NodeEdges): string[] {
  const ends = connections.filter(({ type }) => ruleFor(rules, type)?.to !== undefined).map(({ target }) => target)
  return [...new Set([...ends, ...(rules.parents?.types ? parents.map(({ id }) => id) : [])])]
}

/** Checks how many edges there are of each kind, which needs no look-up. */
export function checkEdgeCounts(rules: EdgeRules, { parents, connections }: NodeEdges, report: Report): void {
  const counts = new Map<string, number>()
  for (const { type } of connections) counts.set(type, (counts.get(type) ?? 0) + 1)
  for (const [type, rule] of Object.entries(rules.connections ?? {}))
    checkCount(rule, counts.get(type) ?? 0, ['connections', type], 'connection', report)
  checkCount(rules.parents ?? {}, parents.length, ['parents'], 'parent', report)
  if (rules.other_connections !== false) return
  for (const [type, count] of counts)
    if (!ruleFor(rules, type))
      found(report, ['connections', type], 'other_connections', count, () => {
        const allowed = Object.keys(rules.connections ?? {}).map(quote)
        const right = allowed.length === 0 ? 'this type has no connections' : `it must be ${either(allowed)}`
        return `is not allowed: ${right}; the node has ${count}`
      })
}

/** Checks the types of the other ends. An end that does not exist is not judged here. */
export function checkEdgeEnds(rules: EdgeRules, edges: NodeEdges, ends: Ends, report: Report): void {
  const check = (allowed: readonly string[] | undefined, end: string, steps: Steps, say: (is: string) => string) => {
    const type = allowed && ends.typeOf(end)
    if (!allowed || type === undefined || isAllowed(ends, allowed, type)) return
    found(report, steps, steps[0] === 'parents' ? 'types' : 'to', 1, () => {
      const is = type === null ? 'a node without a type' : `a node of type ${quote(type)}`
      return `must have nodes of type ${either(allowed.map(quote))} at the other end; ${say(is)}`
    })
  }
  for (const { id, target, type } of edges.connections)
    check(ruleFor(rules, type)?.to, target, ['connections', type], (is) => `connection ${id} leads to ${is}`)
  for (const { id } of edges.parents) check(rules.parents?.types, id, ['parents'], (is) => `parent ${id} is ${is}`)
}

function isAllowed({ nameOf }: Ends, allowed: readonly string[], type: string | null): boolean {
  return type !== null && allowed.some((one) => nameOf(one) === nameOf(type))
}

function checkCount(
  { min = 0, max = Infinity }: ConnectionRule | ParentRule,
  count: number,
  steps: Steps,
  noun: string,
  report: Report,
): void {
  if (count < min)
    found(report, steps, 'min', min - count, () => `must have at least ${counted(min, noun)}; the node has ${count}`)
  if (count > max)
    found(report, steps, 'max', count - max, () => `must have at most ${counted(max, noun)}; the node has ${count}`)
}

function ruleFor({ connections = {} }: EdgeRules, type: string): ConnectionRule | undefined {
  return Object.hasOwn(connections, type) ? connections[type] : undefined
}

function found(report: Report, steps: Steps, rule: string, excess: number, say: () => string): void {
  const path = pathOf(steps)
  report({ place: placeOf(rule, steps), excess, steps, word: () => ({ path, rule, msg: `${path} ${say()}` }) })
}
