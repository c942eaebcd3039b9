/** The rules of types, checked when main moves. Only strict types refuse, and only what is broken more than before. */

import { isDamage } from '../../../gitstore/errors.ts'
import type { ObjectDraft } from '../../../gitstore/objects/object-batch.ts'
import { readBlob } from '../../../gitstore/objects/objects.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { readHeldEdges, readTypeTexts } from '../../../index/derived/node-queries.ts'
import { type Problem, ValidationError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { orgIsGone } from '../access.ts'
import { type NodeContent, readContent } from '../format/node-format.ts'
import { readRecord } from '../format/org-format.ts'
import type { TypeRuleProblem } from '../format/path-problem.ts'
import { nodeFile } from '../format/paths.ts'
import { main, orgRepo } from '../layout.ts'
import type { Services } from '../services.ts'
import { contentProblemsOf, toTypeProblem } from '../types/content-problems.ts'
import type { Enforcement } from '../types/definition.ts'
import { OrgTypes, typeText, typeValue } from '../types/org-types.ts'
import { endsOfChange, endsOfNode, findForgottenType, judgeChange, judgeNode } from '../types/rules.ts'
import { lastTypes, readTypes } from '../types/stored-types.ts'

/** The content of nodes that the same batch writes, by id. */
export type Coming = ReadonlyMap<string, Pick<NodeContent, 'properties'>>

const nothingComing: Coming = new Map()

/**
 * Reads the types that are in force now. If the organisation's repository is damaged, the types before stay in force, as
 * its rules do. After a restart, there are none until it is repaired.
 *
 * @throws AppError org_not_found, GitError storage_*
 */
export async function readOrgTypes({ store }: Pick<Services, 'store'>, orgId: string): Promise<OrgTypes> {
  const repo = orgRepo(store, orgId)
  try {
    const head = readRef(repo, main)
    if (head === null) return noTypes
    const { org } = await readRecord(repo, head)
    return (await readTypes(repo, head, org.unknown_types === 'refuse')).types
  } catch (error) {
    if (!isDamage(error)) orgIsGone(error)
    return lastTypes(repo) ?? noTypes
  }
}

const noTypes = new OrgTypes([], false)

/**
 * Finds the rules of its type that a node breaks more than before. Undefined `before` stands for a new node.
 *
 * @param repo has the new `node.json`
 */
export async function findTypeProblems(
  deps: Pick<Services, 'index' | 'store'>,
  orgId: string,
  repo: Repo,
  before: NodeContent | undefined,
  after: NodeContent,
  coming = nothingComing,
): Promise<TypeRuleProblem[]> {
  return problemsOfChange(deps, orgId, repo, { before, after, coming, enforcement: 'strict' })
}

/**
 * Finds the rules of advisory types that a node breaks more than before. They prevent no change.
 *
 * @param before the tree of main; null for a new node
 * @param after the new tree
 */
export async function findTypeAdvice(
  deps: Pick<Services, 'index' | 'store'>,
  orgId: string,
  repo: Repo,
  before: Oid | null,
  after: Oid | null,
): Promise<TypeRuleProblem[]> {
  return findTypeFaults(deps, orgId, repo, { before, after, coming: nothingComing, enforcement: 'advisory' })
}

interface TypedTrees {
  readonly before: Oid | null
  readonly after: Oid | null
  readonly coming: Coming
  readonly enforcement: Enforcement
}

/** Finds the rules of types with that enforcement that a node breaks more than before. */
export async function findTypeFaults(
  deps: Pick<Services, 'index' | 'store'>,
  orgId: string,
  repo: Repo,
  { before, after, coming, enforcement }: TypedTrees,
): Promise<TypeRuleProblem[]> {
  const [known, content] = [await readContent(repo, before), await readContent(repo, after)]
  if (typeValue(content.properties) === null) return []
  return problemsOfChange(deps, orgId, repo, { before: known, after: content, coming, enforcement })
}

interface TypedChange {
  readonly before: NodeContent | undefined
  readonly after: NodeContent
  readonly coming: Coming
  readonly enforcement: Enforcement
}

async function problemsOfChange(
  deps: Pick<Services, 'index' | 'store'>,
  orgId: string,
  repo: Repo,
  { before, after, coming, enforcement }: TypedChange,
): Promise<TypeRuleProblem[]> {
  const types = await readOrgTypes(deps, orgId)
  if (types.types.length === 0 && !types.refusesUnknown) return []
  const ends = endsOfChange(types, before, after, enforcement).filter((id) => !coming.has(id))
  const stored = await readTypeTexts(deps.index.read, orgId, ends)
  const typeOf = (id: string) => {
    const content = coming.get(id)
    return content === undefined ? stored.get(id) : (typeText(content.properties) ?? null)
  }
  const judgement = judgeChange(types, before, after, typeOf, enforcement)
  if (judgement.violations.length === 0) return []
  const { jsonBlob } = after
  const json = jsonBlob === undefined ? '{}' : (await readBlob(repo, jsonBlob, limits.nodeJsonBytes)).toString()
  return contentProblemsOf(judgement, json)
}

/**
 * Refuses properties that replace all others, but lack the strict type of the node.
 *
 * @param tree the node as it is under the lock of main. Null for a new node
 * @param loc the part of the request that has `properties`
 * @throws ValidationError type_rule
 */
export async function requireKnownType(
  deps: Pick<Services, 'store'>,
  orgId: string,
  { repo }: Pick<ObjectDraft, 'repo'>,
  tree: Oid | null,
  sent: NodeContent['properties'],
  loc: Problem['loc'],
): Promise<void> {
  if (Object.hasOwn(sent, 'type')) return
  const { properties } = await readContent(repo, tree)
  if (typeText(properties) === undefined) return
  const types = await readOrgTypes(deps, orgId)
  const violation = findForgottenType(types, properties, sent)
  const type = types.typeOf(properties)
  if (!violation || !type) return
  const { path: place, pointer, rule, msg } = violation
  const ctx = { path: nodeFile, type: type.name, version: type.version, rule, place, pointer }
  throw new ValidationError([{ loc: [...loc, 'properties', 'type'], msg, type: 'type_rule', ctx }])
}

/** Finds the type of a node as it is on main, and what it breaks. @throws GitError as readOrgTypes */
export async function findTypeOf(
  deps: Pick<Services, 'index' | 'store'>,
  orgId: string,
  node: { readonly id: string; readonly properties: NodeContent['properties'] },
) {
  if (typeText(node.properties) === undefined) return untyped
  const types = await readOrgTypes(deps, orgId)
  if (!types.typeOf(node.properties)) return untyped
  const content = { ...(await readHeldEdges(deps.index.read, node.id)), properties: node.properties }
  const stored = await readTypeTexts(deps.index.read, orgId, endsOfNode(types, content))
  const { type, violations } = judgeNode(types, content, (id) => stored.get(id))
  return { type: type?.name ?? null, type_problems: violations.map((one) => toTypeProblem(one, type?.name)) }
}

const untyped = { type: null, type_problems: [] }
