/** The effects of a set on the graph: edges, and pages that come and go. */
import pLimit from 'p-limit'
import { readRef } from '../../../gitstore/refs/refs.ts'
import { listSetItems, type SetItemRow } from '../../../index/derived/change-sets.ts'
import { listEdgesTo, readParentsOf } from '../../../index/derived/edges.ts'
import { findPull } from '../../../index/derived/pulls.ts'
import * as limits from '../../base/limits.ts'
import { authorizeOrg, type OrgAccess } from '../access.ts'
import type { Person } from '../actor.ts'
import { findTree } from '../branches/revisions.ts'
import { type NodeContent, readContent } from '../format/node-format.ts'
import { edgeName, type NamedEdge } from '../format/paths.ts'
import { branchRef, main } from '../layout.ts'
import { edgesBeyond, edgesOf, endsOf, titlesOf, toImpactEdge } from '../pulls/impact.ts'
import type { Ctx } from '../services.ts'
import type { Path, SetAt } from '../targets.ts'
import { findPage } from './state.ts'
import { findSet, settleSets } from './views.ts'

/** Pages that are read side by side. */
const readAtOnce = 8

interface Page {
  readonly node_id: string
  readonly act: SetItemRow['act']
  /** The title after the merge. A page to delete has its current one. */
  readonly title: string
  readonly before: NodeContent
  readonly after: NodeContent
}

/** Returns the effects of the merge of all pages together. @throws AppError change_set_not_found */
export async function getChangeSetImpact(ctx: Ctx<Person>, { path }: Path<SetAt>) {
  const access = await authorizeOrg(ctx, path, 'reader')
  await settleSets(ctx, path.org_id)
  const { number } = await findSet(ctx, path)
  const rows = await listSetItems(ctx.index.read, path.org_id, [number])
  const turn = pLimit(readAtOnce)
  const pages = (await Promise.all(rows.map((row) => turn(() => readPage(ctx, access, row))))).flat()
  const pairs = pages.map(({ node_id, before, after }) => [edgesOf(node_id, before), edgesOf(node_id, after)] as const)
  const leaving = pages.filter(({ act }) => act === 'delete').map(({ node_id }) => node_id)
  const held = await edgesToLeaving(ctx, access, leaving, pages)
  const parents = await readParentsOf(
    ctx.index.read,
    held.flatMap(({ edge_type, target }) => (edge_type === 'parent_child' ? target : [])),
  )
  const ends = [...endsOf([...pairs.flatMap((pair) => pair.flatMap((edges) => [...edges.values()])), ...held])]
  const titles = await titlesOf(ctx, access.sees, [...ends, ...[...parents.values()].flat()])
  for (const { node_id, title } of pages) titles.set(node_id, title)
  const gone = new Set(leaving)
  const stays = (id: string) => titles.has(id) && !gone.has(id)
  const fresh = pairs.flatMap(([, after]) => [...after.values()])
  const lists = {
    edges_added: pairs.flatMap(([before, after]) => edgesBeyond(before, after)),
    edges_removed: pairs.flatMap(([before, after]) => edgesBeyond(after, before)),
    dangling: [...fresh, ...held].filter(({ source, target }) => !stays(source) || !stays(target)),
  }
  const orphans = orphansOf(pages, parents, stays)
  return {
    nodes_added: pages
      .filter(({ act }) => act === 'create' || act === 'restore')
      .map(({ node_id, title }) => ({ node_id, title })),
    nodes_removed: leaving.map((node_id) => ({ node_id, title: titles.get(node_id) ?? '' })),
    orphans: orphans.slice(0, limits.impactItems).map((node_id) => ({ node_id, title: titles.get(node_id) ?? '' })),
    edges_added: lists.edges_added.slice(0, limits.impactItems).map((edge) => toImpactEdge(edge, titles)),
    edges_removed: lists.edges_removed.slice(0, limits.impactItems).map((edge) => toImpactEdge(edge, titles)),
    dangling: lists.dangling.slice(0, limits.impactItems).map((edge) => toImpactEdge(edge, titles)),
    truncated: [...Object.values(lists), orphans, held].some(({ length }) => length > limits.impactItems),
  }
}

/** Reads a page at the merge base and at the head of its item. Empty if it is gone. */
async function readPage(ctx: Ctx, org: OrgAccess, { node_id, pull: number, act }: SetItemRow): Promise<Page[]> {
  const access = await findPage(ctx, org, node_id)
  if (access === undefined) return []
  const pull = await findPull(ctx.index.read, node_id, number)
  if (pull === undefined) return []
  const { repo, history, node } = access
  const headOf = (ref: string) => (pull.status === 'open' ? readRef(repo, ref) : null)
  const head = headOf(branchRef(pull.source_branch)) ?? pull.source_commit
  const base = act === 'create' ? null : await history.mergeBase(headOf(main) ?? pull.target_commit, head)
  const before = await readContent(repo, await findTree(repo, base ?? null))
  const after = await readContent(repo, await findTree(repo, head))
  return [{ node_id, act, title: (act === 'delete' ? undefined : after.title) ?? node.title, before, after }]
}

/** The edges that pages outside of the set hold to those that it deletes. */
async function edgesToLeaving(
  { index }: Ctx,
  { sees }: OrgAccess,
  leaving: readonly string[],
  pages: readonly Page[],
): Promise<NamedEdge[]> {
  const inside = new Set(pages.map(({ node_id }) => node_id))
  const rows = await listEdgesTo(index.read, sees, leaving, limits.impactItems + 1)
  return rows
    .filter(({ holder }) => !inside.has(holder))
    .map(({ holder, key, ...edge }) => ({
      ...edge,
      id: edgeName(holder, edge.edge_type === 'connection' ? 'connections' : 'parents', key),
    }))
}

/** Pages that stay, had a parent, and then have none. @param parents those of pages outside of the set, by child */
function orphansOf(
  pages: readonly Page[],
  parents: ReadonlyMap<string, readonly string[]>,
  stays: (id: string) => boolean,
): string[] {
  const inside = pages.filter(({ act, before, after }) => {
    return act === 'change' && before.parents.length > 0 && !after.parents.some(({ id }) => stays(id))
  })
  const outside = [...parents].filter(([, ids]) => !ids.some(stays))
  return [...inside.map(({ node_id }) => node_id), ...outside.map(([id]) => id)]
}
