/**
 * The changes of a pull request since the merge base: entities, hunks and a patch. Also the effects of its merge on the
 * graph: edges, the ancestors of the node, and the part that anonymous callers see.
 */

import { createYielder } from '../../../gitstore/yielder.ts'
import { listAbove } from '../../../index/derived/edges.ts'
import { countsOf } from '../../../index/derived/neighbours.ts'
import { readTitles } from '../../../index/derived/node-queries.ts'
import { readProposedTitles } from '../../../index/derived/proposed-nodes.ts'
import type { Sees } from '../../../index/derived/sees.ts'
import * as limits from '../../base/limits.ts'
import { authorizeNode, type NodeAccess } from '../access.ts'
import type { Person } from '../actor.ts'
import { readDiff } from '../branches/commit-views.ts'
import { createLargeRead } from '../branches/large-reads.ts'
import { findTree } from '../branches/revisions.ts'
import { type CommitPair, type DiffQuery, patchOf, textDiff } from '../branches/text-diffs.ts'
import { type NodeContent, readContent } from '../format/node-format.ts'
import { edgeName, type NamedEdge } from '../format/paths.ts'
import type { Ctx, RequestCtx, Services } from '../services.ts'
import type { Path, PullAt, Query } from '../targets.ts'
import { headsOf } from './pull-state.ts'
import { findPullRow } from './pulls.ts'

/** Lists the changed entities. @throws AppError as readCommitPair, too_large, busy; the signal's reason */
export async function getPullChanges(ctx: RequestCtx<Person>, { path }: Path<PullAt>) {
  const { access, pair } = await readCommitPair(ctx, path)
  return readDiff(access.repo, path.node_id, pair.base, pair.target, createLargeRead(ctx))
}

/** Returns the changed hunks. @throws the errors of textDiff */
export async function readPullDiff(ctx: RequestCtx<Person>, { path, query }: Path<PullAt> & Query<DiffQuery>) {
  const { access, pair } = await readCommitPair(ctx, path)
  return textDiff(ctx, access, pair, query)
}

/** Returns the changes as a patch. @throws the errors of patchOf */
export async function readPullPatch(
  ctx: RequestCtx<Person>,
  { path, query }: Path<PullAt> & Query<DiffQuery>,
): Promise<Buffer> {
  const { access, pair } = await readCommitPair(ctx, path)
  return patchOf(ctx, access, pair, query)
}

/** The merge base of source and target, and the source's commit. */
async function readCommitPair(ctx: Ctx<Person>, at: PullAt) {
  const access = await authorizeNode(ctx, at, 'reader')
  const row = await findPullRow(ctx, at)
  const { target_commit, source_commit } = headsOf(access, row)
  const fork = await access.history.mergeBase(target_commit, source_commit)
  const pair: CommitPair = { base: fork ?? null, target: source_commit }
  return { access, pair, row }
}

/** Nodes read by one query. */
const idsAtOnce = 500
/** The most characters of a connection's target, which may be any string. */
const targetLength = 200

/**
 * Returns the effects of a merge on the graph. Edges are compared with those of the merge base, as in the changes.
 * Ancestors, and the nodes that exist, are those of the current graph. An item also knows the new nodes of its set.
 */
export async function getPullImpact(ctx: Ctx<Person>, { path }: Path<PullAt>) {
  const { access, pair, row } = await readCommitPair(ctx, path)
  const { repo, org, sees, node } = access
  const before = await readContent(repo, await findTree(repo, pair.base))
  const after = await readContent(repo, await findTree(repo, pair.target))
  const [old, fresh] = [edgesOf(node.id, before), edgesOf(node.id, after)]
  const [added, removed] = [edgesBeyond(old, fresh), edgesBeyond(fresh, old)]
  const coming = row.change_set === null ? [] : await readProposedTitles(ctx.index.read, org.id, row.change_set)
  const known = await titlesOf(ctx, sees, [...endsOf([...removed, ...fresh.values()])])
  const titles = new Map([...coming, ...known])
  const isShown = ({ source, target }: NamedEdge): boolean => titles.has(source) && titles.has(target)
  const isAlone = access.onlyNode !== undefined
  const shown = isAlone ? new Map([...titles].filter(([id]) => id === node.id)) : titles
  const toView = (edge: NamedEdge) => toImpactEdge(edge, shown)
  const isMain = row.target_branch === 'main'
  const isPublic = isMain && org.published === 1
  const above = isMain ? await ancestors(ctx, access, before, after) : nothing
  const lists = {
    edges_added: added.map(toView),
    edges_removed: removed.map(toView),
    dangling: [...fresh.values()].filter((edge) => !isShown(edge)).map(toView),
  }
  const appears = isPublic ? added.filter(isShown).map(({ id }) => id) : []
  const disappears = isPublic ? removed.filter(isShown).map(({ id }) => id) : []
  const { gained, lost, isCut } = above
  const listed = isAlone ? nothing : above
  const isLong = [...Object.values(lists), gained, lost].some(({ length }) => length > limits.impactItems)
  return {
    node_id: node.id,
    source_commit: pair.target,
    base_commit: pair.base,
    edges_added: lists.edges_added.slice(0, limits.impactItems),
    edges_removed: lists.edges_removed.slice(0, limits.impactItems),
    ancestors: { gained: listed.gained.slice(0, limits.impactItems), lost: listed.lost.slice(0, limits.impactItems) },
    descendants_affected:
      gained.length + lost.length > 0 ? (await countsOf(ctx.index.read, sees, node.id)).num_descendants : 0,
    dangling: lists.dangling.slice(0, limits.impactItems),
    public: { appears: appears.slice(0, limits.impactItems), disappears: disappears.slice(0, limits.impactItems) },
    truncated: isLong || isCut,
  }
}

/** Returns an edge with the titles of its ends. A title that is missing is `''`. */
export function toImpactEdge(edge: NamedEdge, titles: ReadonlyMap<string, string>) {
  return {
    ...edge,
    target: edge.target.slice(0, targetLength),
    source_title: titles.get(edge.source) ?? '',
    target_title: titles.get(edge.target) ?? '',
  }
}

/** The edges of a node by id, sorted by id. */
export function edgesOf(nodeId: string, { parents, connections }: NodeContent): ReadonlyMap<string, NamedEdge> {
  const edges: NamedEdge[] = [
    ...parents.map(({ id, label }) => ({
      id: edgeName(nodeId, 'parents', id),
      source: id,
      target: nodeId,
      edge_type: 'parent_child' as const,
      connection_type: '',
      label,
    })),
    ...connections.map(({ id, target, type, label }) => ({
      id: edgeName(nodeId, 'connections', id),
      source: nodeId,
      target,
      edge_type: 'connection' as const,
      connection_type: type,
      label,
    })),
  ]
  return new Map(edges.sort((a, b) => (a.id < b.id ? -1 : 1)).map((edge) => [edge.id, edge]))
}

/** The edges of `there` that `here` does not have, or has with other fields. */
export function edgesBeyond(here: ReadonlyMap<string, NamedEdge>, there: ReadonlyMap<string, NamedEdge>): NamedEdge[] {
  return [...there.values()].filter((edge) => {
    const own = here.get(edge.id)
    const isSame = own?.target === edge.target && own.connection_type === edge.connection_type
    return !isSame || own.label !== edge.label
  })
}

/** The ids at the ends of edges. */
export function endsOf(edges: readonly NamedEdge[]): ReadonlySet<string> {
  return new Set(edges.flatMap(({ source, target }) => [source, target]))
}

/** Titles of those ids that are nodes of the organisation. */
export async function titlesOf(
  { index }: Pick<Services, 'index'>,
  sees: Sees,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const titles = new Map<string, string>()
  const pace = createYielder()
  for (let at = 0; at < ids.length; at += idsAtOnce) {
    await pace.yieldToEventLoop()
    for (const [id, title] of await readTitles(index.read, sees, ids.slice(at, at + idsAtOnce))) titles.set(id, title)
  }
  return titles
}

interface Above {
  readonly node_id: string
  readonly title: string
}

interface AboveChanged {
  readonly gained: readonly Above[]
  readonly lost: readonly Above[]
  readonly isCut: boolean
}

const nothing: AboveChanged = { gained: [], lost: [], isCut: false }

/** Compares the ancestors of the node. If there are too many, the result is empty and `isCut` is true. */
async function ancestors(
  { index }: Services,
  { sees, node }: NodeAccess,
  before: NodeContent,
  after: NodeContent,
): Promise<AboveChanged> {
  const above = ({ parents }: NodeContent): Promise<Above[]> =>
    listAbove(
      index.read,
      sees,
      node.id,
      parents.map(({ id }) => id),
      limits.impactAncestors + 1,
    )
  const [old, fresh] = [await above(before), await above(after)]
  if (Math.max(old.length, fresh.length) > limits.impactAncestors) return { ...nothing, isCut: true }
  return { gained: beyond(old, fresh), lost: beyond(fresh, old), isCut: false }
}

function beyond(here: readonly Above[], there: readonly Above[]): readonly Above[] {
  const known = new Set(here.map(({ node_id }) => node_id))
  return there.filter(({ node_id }) => !known.has(node_id))
}
