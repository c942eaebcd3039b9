/** The graph of a published organisation, for anybody. */
import type { Kysely, Selectable } from 'kysely'
import { LRUCache } from 'lru-cache'
import { type Counted, countRelatives } from '../../index/derived/graph-counts.ts'
import type { EdgeTable, IndexSchema } from '../../index/derived/schema.ts'
import type { Deps } from '../deps.ts'
import { Refusal } from '../errors.ts'
import { isId } from './places.ts'

export interface GraphEdge {
  readonly id: string
  readonly source: string
  readonly target: string
  readonly edge_type: 'parent_child' | 'connection'
  readonly connection_type: string
  readonly label: string
  readonly parent_node_id: string
}

interface CountsOfVersion {
  /** `<epoch>-<graph_version>` of the organisation's row. */
  readonly version: string
  readonly counted: Promise<Counted>
}

const countsOf = new LRUCache<string, CountsOfVersion>({ max: 64 })

/** Authorization is ignored here; unknown and unpublished are told the same. @throws Refusal org_not_found */
export async function readPublicGraph(deps: Deps, orgId: string) {
  const db = deps.index.read
  const org = isId(orgId)
    ? await db.selectFrom('org').selectAll().where('id', '=', orgId).where('published', '=', 1).executeTakeFirst()
    : undefined
  if (!org) throw new Refusal('org_not_found', 'Organisation not found')
  const rows = await db
    .selectFrom('node')
    .select(['id', 'title', 'description', 'tags', 'created_at', 'updated_at'])
    .where('org_id', '=', orgId)
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  const visible = new Set(rows.map((row) => row.id))
  const all = await db.selectFrom('edge').selectAll().where('org_id', '=', orgId).execute()
  const shown = all.filter((edge) => visible.has(edge.source) && visible.has(edge.target))
  const { counts, hidden } = await countsAt(orgId, `${org.epoch}-${org.graph_version}`, [...visible], shown)
  const cyclic = new Set(hidden.map(({ parent, child }) => `${parent} ${child}`))
  const edges = shown
    .filter((edge) => edge.edge_type !== 'parent_child' || !cyclic.has(`${edge.source} ${edge.target}`))
    .map(toGraphEdge)
  await requirePublished(db, orgId)
  const nodes = rows.map(({ tags, ...row }) => {
    const count = counts.get(row.id)
    return {
      ...row,
      tags: JSON.parse(tags) as string[], // written by follow.ts
      num_parents: count?.parents ?? 0,
      num_children: count?.children ?? 0,
      num_ancestors: count?.ancestors ?? 0,
      num_descendants: count?.descendants ?? 0,
    }
  })
  edges.sort((a, b) => (a.id < b.id ? -1 : 1))
  return { org_id: orgId, org_name: org.name, nodes, edges, total_nodes: nodes.length, total_edges: edges.length }
}

/** `<child>/parents/<parent>` or `<holder>/connections/<id>`: where the edge lies. */
export function toGraphEdge(edge: Selectable<EdgeTable>): GraphEdge {
  const { holder, key, source, target, edge_type, connection_type, label } = edge
  const folder = edge_type === 'parent_child' ? 'parents' : 'connections'
  return { id: `${holder}/${folder}/${key}`, source, target, edge_type, connection_type, label, parent_node_id: source }
}

/** Counting takes its time, and the organisation may have been unpublished meanwhile. */
async function requirePublished(db: Kysely<IndexSchema>, orgId: string): Promise<void> {
  const row = await db.selectFrom('org').select('published').where('id', '=', orgId).executeTakeFirst()
  if (row?.published !== 1) throw new Refusal('org_not_found', 'Organisation not found')
}

function countsAt(
  orgId: string,
  version: string,
  ids: readonly string[],
  edges: readonly Selectable<EdgeTable>[],
): Promise<Counted> {
  const known = countsOf.get(orgId)
  if (known?.version === version) return known.counted
  const arcs = edges
    .filter((edge) => edge.edge_type === 'parent_child')
    .map((edge) => ({ parent: edge.source, child: edge.target }))
  const counted = countRelatives(ids, arcs)
  countsOf.set(orgId, { version, counted })
  return counted
}
