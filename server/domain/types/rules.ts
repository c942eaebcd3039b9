/**
 * Judges nodes by the definition of their type, and changes by both versions. A change may keep what the node already
 * breaks, and may not break more.
 */

import * as limits from '../../base/limits.ts'
import { checkProperties, type Finding, type Report, type Violation } from './checker.ts'
import type { Enforcement } from './definition.ts'
import { checkEdgeCounts, checkEdgeEnds, type Ends, endsToLookUp, type NodeEdges, newEdges } from './edge-types.ts'
import { type NodeType, type OrgTypes, typeText, typeValue } from './org-types.ts'
import { describe, didYouMean, quote } from './wording.ts'

/** The parts of a node that its type has rules for. `NodeContent` has them. */
export interface TypedContent extends NodeEdges {
  readonly properties: Readonly<Record<string, unknown>>
}

/** A judgement. `type` is the one that is judged by. */
export interface Judgement {
  readonly type: NodeType | undefined
  readonly violations: readonly Violation[]
}

/** Lists the nodes whose types `judgeNode` needs. */
export function endsOfNode(types: OrgTypes, content: TypedContent): string[] {
  const type = types.typeOf(content.properties)
  return type ? endsToLookUp(type.definition, content) : []
}

/** Lists the nodes whose types `judgeChange` needs. Unchanged edges are not looked up again. */
export function endsOfChange(
  types: OrgTypes,
  before: TypedContent | undefined,
  after: TypedContent,
  enforcement: Enforcement = 'strict',
): string[] {
  const type = types.typeOf(after.properties)
  if (!type || enforcementOf(type) !== enforcement) return []
  return endsToLookUp(type.definition, newEdges(sameTyped(types, before, after), after))
}

/** Finds everything that a node breaks, strict or not. */
export function judgeNode(types: OrgTypes, content: TypedContent, typeOf: Ends['typeOf']): Judgement {
  const type = types.typeOf(content.properties)
  const violations: Violation[] = []
  if (type)
    findings(types, type, content, content, typeOf, ({ word }) => {
      if (violations.length < limits.violations) violations.push(word())
    })
  return { type, violations }
}

/** True if a node breaks a rule of its type, strict or not. Words nothing. */
export function breaksRules(types: OrgTypes, content: TypedContent, typeOf: Ends['typeOf']): boolean {
  const type = types.typeOf(content.properties)
  let isBroken = false
  if (type)
    findings(types, type, content, content, typeOf, () => {
      isBroken = true
    })
  return isBroken
}

/**
 * Finds what a change breaks more than before. Undefined `before` stands for a new node. If the type is new at the
 * node, everything counts as new.
 *
 * @param enforcement judges only types with this enforcement. Strict ones refuse the change, advisory ones only warn
 */
export function judgeChange(
  types: OrgTypes,
  before: TypedContent | undefined,
  after: TypedContent,
  typeOf: Ends['typeOf'],
  enforcement: Enforcement = 'strict',
): Judgement {
  const known = sameTyped(types, before, after)
  const type = types.typeOf(after.properties)
  if (!type) return { type, violations: known || enforcement !== 'strict' ? [] : unknownType(types, after) }
  if (enforcementOf(type) !== enforcement) return { type, violations: [] }
  const edges = newEdges(known, after)
  const ofBefore = (report: Report) => known && findings(types, type, known, undefined, typeOf, report)
  const ofAfter = (report: Report) => findings(types, type, after, edges, typeOf, report)
  return { type, violations: growth(ofBefore, ofAfter) }
}

/**
 * Finds a `type` that a request forgets when it replaces all properties. Only strict types must be named again. Null
 * leaves the type.
 *
 * @param sent the properties of the request
 */
export function findForgottenType(
  types: OrgTypes,
  before: TypedContent['properties'],
  sent: TypedContent['properties'],
): Violation | undefined {
  const type = types.typeOf(before)
  if (!type || enforcementOf(type) !== 'strict' || Object.hasOwn(sent, 'type')) return undefined
  const written = quote(typeText(before) ?? type.name)
  const msg = `properties.type is missing; send ${written} to keep the type, or null to leave it`
  return { path: 'properties.type', pointer: '/properties/type', rule: 'required', msg }
}

function enforcementOf({ definition }: NodeType): Enforcement {
  return definition.enforcement ?? 'advisory'
}

/** Returns `before` if it has the same type as `after`, in any spelling. */
function sameTyped(types: OrgTypes, before: TypedContent | undefined, after: TypedContent): TypedContent | undefined {
  const nameOf = ({ properties }: TypedContent) => {
    const text = typeText(properties)
    return text === undefined ? JSON.stringify(typeValue(properties)) : `"${types.nameOf(text)}"`
  }
  return before && nameOf(before) === nameOf(after) ? before : undefined
}

function unknownType(types: OrgTypes, { properties }: TypedContent): Violation[] {
  const value = typeValue(properties)
  if (!types.refusesUnknown || value === null) return []
  const text = typeText(properties)
  const names = types.types.flatMap(({ name, definition: { aliases = [] } }) => [name, ...aliases])
  const is =
    text === undefined
      ? `it is ${describe(value)}`
      : `${quote(text)} is not one${didYouMean(text, names) || `: ${types.listed}`}`
  const msg = `properties.type must be the name of a type; ${is}`
  return [{ path: 'properties.type', pointer: '/properties/type', rule: 'unknown_types', msg }]
}

/** Reports everything that a node breaks. @param judged the edges whose other ends are judged. Undefined: none */
function findings(
  types: OrgTypes,
  { definition }: NodeType,
  content: TypedContent,
  judged: NodeEdges | undefined,
  typeOf: Ends['typeOf'],
  report: Report,
): void {
  checkProperties(definition.schema ?? {}, content.properties, report)
  checkEdgeCounts(definition, content, report)
  if (judged) checkEdgeEnds(definition, judged, { typeOf, nameOf: (text) => types.nameOf(text) }, report)
}

type Run = (report: Report) => void

/** Words what is broken more often after than before. At a place with old violations, it words those that are new. */
function growth(before: Run, after: Run): Violation[] {
  const counts = new Map<string, number>()
  const count = (sign: number) => (finding: Finding) => {
    counts.set(finding.place, (counts.get(finding.place) ?? 0) + sign * finding.excess)
  }
  after(count(1))
  if (counts.size === 0) return []
  before(count(-1))
  const isGrown = ({ place }: Finding) => (counts.get(place) ?? 0) > 0
  if (![...counts.values()].some((growth) => growth > 0)) return []
  const old = new Map<string, number>()
  before((finding) => {
    if (!isGrown(finding)) return
    const key = keyOf(finding)
    old.set(key, (old.get(key) ?? 0) + 1)
  })
  const violations: Violation[] = []
  after((finding) => {
    if (violations.length >= limits.violations || !isGrown(finding)) return
    const key = keyOf(finding)
    const left = old.get(key) ?? 0
    if (left > 0) old.set(key, left - 1)
    else violations.push(finding.word())
  })
  return violations
}

/** Equal for violations that say the same of items of one list. A sentence names the excess, if it can grow. */
function keyOf({ place, word }: Finding): string {
  const { path, msg } = word()
  return `${place}${msg.slice(path.length)}`
}
