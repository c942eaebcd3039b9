/** Types and their nodes: counts, problems, and the effect of new definitions. */

import { AppError } from '../../base/errors.ts'
import { authorizeOrg, type OrgAccess } from '../../domain/access.ts'
import type { Person } from '../../domain/actor.ts'
import { readOrgTypes } from '../../domain/branches/type-rules.ts'
import { requireRoomInOrg } from '../../domain/byte-quota.ts'
import { type Page, pageOf, slice } from '../../domain/pagination.ts'
import { searchInTurn } from '../../domain/search/queue.ts'
import type { BrokenNode, Impact, JudgedType } from '../../domain/search/type-judging.ts'
import type { RequestCtx } from '../../domain/services.ts'
import type { Body, OrgAt, Path, Query, TypeAt } from '../../domain/targets.ts'
import { toTypeProblem } from '../../domain/types/content-problems.ts'
import type { TypeDefinition } from '../../domain/types/definition.ts'
import type { NodeType, OrgTypes } from '../../domain/types/org-types.ts'
import { counted, quote } from '../../domain/types/wording.ts'
import { changeType, readHistory, requireDefinition, requireType } from './definitions.ts'

/** The most texts of `type` that are listed because nobody defined them. */
const mostUndefined = 100

export interface TypeChange {
  readonly definition: unknown
  readonly expected_version?: string | null
  readonly max_newly_broken?: number
}

/** Lists the types by name. @throws AppError as authorizeOrg and searchInTurn */
export async function listTypes(ctx: RequestCtx, { path, query }: Path<OrgAt> & Query<Page>) {
  const access = await authorizeOrg(ctx, path, 'public')
  const types = await readOrgTypes(ctx, path.org_id)
  const { nodesOf, undefinedTexts } = await countNodes(ctx, access, types)
  return {
    types: slice(types.types, query).map((type) => shown(type, nodesOf)),
    ...pageOf(query, types.types.length),
    ...(undefinedTexts.length > 0 && { undefined: Object.fromEntries(undefinedTexts) }),
  }
}

/** @throws AppError type_not_found, and as authorizeOrg and searchInTurn */
export async function getType(ctx: RequestCtx, { path }: Path<TypeAt>) {
  const access = await authorizeOrg(ctx, path, 'public')
  const { type, types } = await requireType(ctx, path)
  return shown(type, (await countNodes(ctx, access, types)).nodesOf)
}

/**
 * Defines a type, or replaces its definition.
 *
 * @throws AppError version_moved, impact_changed, too_many_types, and as authorizeOrg and searchInTurn
 * @throws ValidationError the definition has faults
 */
export async function putType(ctx: RequestCtx<Person>, { path, body }: Path<TypeAt> & Body<TypeChange>) {
  const access = await authorizeOrg(ctx, path, 'maintainer')
  const definition = requireDefinition(body.definition)
  await requireRoomInOrg(ctx, path.org_id, JSON.stringify(definition))
  const impact = await impactOf(ctx, access, path, definition)
  const { newly_broken, mended, still_broken } = impact
  if (newly_broken > (body.max_newly_broken ?? Infinity)) {
    const detail = `The definition would newly break ${counted(newly_broken, 'node')}; nothing was changed. Check it again`
    throw new AppError('impact_changed', detail, { newly_broken, mended, still_broken })
  }
  await changeType(ctx, path, { definition, expected: body.expected_version })
  const { type, types } = await requireType(ctx, path)
  const { nodesOf } = await countNodes(ctx, access, types)
  return { ...shown(type, nodesOf), impact }
}

/** Says what a definition would change. @throws errors of putType, except those of the change */
export async function checkType(
  ctx: RequestCtx<Person>,
  { path, body }: Path<TypeAt> & Body<{ readonly definition: unknown }>,
) {
  const access = await authorizeOrg(ctx, path, 'reader')
  return impactOf(ctx, access, path, requireDefinition(body.definition))
}

/** @throws AppError type_not_found, version_moved, type_in_use, and as authorizeOrg and searchInTurn */
export async function deleteType(
  ctx: RequestCtx<Person>,
  {
    path,
    query: { expected_version, force = false },
  }: Path<TypeAt> & Query<{ readonly expected_version?: string; readonly force?: boolean }>,
): Promise<void> {
  const access = await authorizeOrg(ctx, path, 'maintainer')
  const { type, types } = await requireType(ctx, path)
  const nodes = force ? 0 : (await countNodes(ctx, access, types)).nodesOf(type)
  if (nodes > 0) {
    const have = nodes === 1 ? '1 node has' : `${nodes.toLocaleString('en')} nodes have`
    const detail = `${have} the type ${quote(path.type_name)}; nothing was changed. Send \`force\` to delete it anyway`
    throw new AppError('type_in_use', detail, { num_nodes: nodes })
  }
  await changeType(ctx, path, { definition: null, expected: expected_version })
}

/** Lists the nodes that break rules of the type, the oldest first. @throws AppError as readType */
export async function listTypeProblems(ctx: RequestCtx, { path, query }: Path<TypeAt> & Query<Page>) {
  const access = await authorizeOrg(ctx, path, 'reader')
  const { types } = await requireType(ctx, path)
  const judged = judgedIn(types.types, path.type_name)
  const found = await searchInTurn(ctx, access, () =>
    ctx.search.listBroken({ orgId: path.org_id, judged, page: query }),
  )
  return { problems: found.nodes.map((node) => shownNode(node, path.type_name)), ...pageOf(query, found.total) }
}

/** Lists the commits that changed a type, newest first. @throws AppError as readHistory and authorizeOrg */
export async function listTypeHistory(ctx: RequestCtx, { path, query }: Path<TypeAt> & Query<Page>) {
  await authorizeOrg(ctx, path, 'reader')
  return readHistory(ctx, path, query)
}

async function impactOf(
  ctx: RequestCtx,
  access: OrgAccess,
  { org_id: orgId, type_name: name }: TypeAt,
  definition: TypeDefinition,
) {
  const { types } = await readOrgTypes(ctx, orgId)
  const others = types.filter((type) => type.name !== name)
  const before = judgedIn(types, name)
  const after = judgedIn([...others, { name, version: '', definition }], name)
  const impact = await searchInTurn(ctx, access, () => ctx.search.compareTypes({ orgId, before, after }))
  return shownImpact(impact, name)
}

function shownImpact({ examples, ...counts }: Impact, name: string) {
  return { ...counts, examples: examples.map((node) => shownNode(node, name)) }
}

/** The type as the search thread judges it. The definitions of other types would only be copied. */
function judgedIn(types: readonly NodeType[], name: string): JudgedType {
  const brief = ({ definition: { title, aliases }, ...type }: NodeType): NodeType => ({
    ...type,
    definition: { title, ...(aliases && { aliases }) },
  })
  return { name, types: types.map((type) => (type.name === name ? type : brief(type))) }
}

async function countNodes(ctx: RequestCtx, access: OrgAccess, types: OrgTypes) {
  const counts = await searchInTurn(ctx, access, () => ctx.search.countTypes(access.org.id))
  const nodes = new Map<NodeType, number>()
  const unknown: [string, number][] = []
  for (const { text, nodes: count } of counts) {
    const type = types.find(text)
    if (type) nodes.set(type, (nodes.get(type) ?? 0) + count)
    else unknown.push([text, count])
  }
  const undefinedTexts = unknown.sort(([one, a], [other, b]) => b - a || (one < other ? -1 : 1)).slice(0, mostUndefined)
  return { nodesOf: (type: NodeType) => nodes.get(type) ?? 0, undefinedTexts }
}

function shown(type: NodeType, nodesOf: (type: NodeType) => number) {
  const { name, version, definition } = type
  return { name, version, num_nodes: nodesOf(type), definition }
}

function shownNode({ node_id, title, violations }: BrokenNode, type: string) {
  return { node_id, title, problems: violations.map((violation) => toTypeProblem(violation, type)) }
}
