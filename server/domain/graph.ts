/** The graph of a published organisation, for anybody. */
import type { Kysely, Selectable } from 'kysely'
import { LRUCache } from 'lru-cache'
import { type Counted, countRelatives } from '../../index/derived/graph-counts.ts'
import type { EdgeTable, IndexSchema } from '../../index/derived/schema.ts'
import type { Deps } from '../deps.ts'
import { Refusal } from '../errors.ts'
import type { OrgRow } from './access.ts'
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

/** What was worked out from the rows of one version of an organisation. */
interface OfVersion<T> {
  readonly version: string
  readonly value: T
}

const counts = new LRUCache<string, OfVersion<Counted>>({ max: 64 })
const graphs = new LRUCache<string, OfVersion<PublicGraph>>({ max: 64 })

/** Rounds in which the rows may change while they are read; each means that somebody else made progress. */
const rounds = 20

type PublicGraph = Awaited<ReturnType<typeof drawGraph>>

/**
 * Authorization is ignored here; unknown and unpublished are told the same. What is remembered is asked for only after
 * the row has said, now, that the organisation is published and at which version.
 *
 * @throws Refusal org_not_found
 */
export async function readPublicGraph(deps: Deps, orgId: string): Promise<PublicGraph> {
  const db = deps.index.read
  for (let round = 0; round < rounds; round++) {
    const org = await readPublished(db, orgId)
    const known = graphs.get(orgId)
    if (known?.version === versionOf(org)) return known.value
    const rows = await readRows(db, orgId)
    if (versionOf(await readPublished(db, orgId)) !== versionOf(org)) continue
    const value = await drawGraph(org, rows)
    graphs.set(orgId, { version: versionOf(org), value })
    // Counting takes its time: the organisation may have been unpublished meanwhile.
    await readPublished(db, orgId)
    return value
  }
  throw new Refusal('busy', 'The graph changes faster than it can be read; try again')
}

async function readPublished(db: Kysely<IndexSchema>, orgId: string): Promise<OrgRow> {
  const org = isId(orgId)
    ? await db.selectFrom('org').selectAll().where('id', '=', orgId).where('published', '=', 1).executeTakeFirst()
    : undefined
  if (!org) throw new Refusal('org_not_found', 'Organisation not found')
  return org
}

function versionOf({ epoch, version }: OrgRow): string {
  return `${epoch}-${version}`
}

async function readRows(db: Kysely<IndexSchema>, orgId: string) {
  const nodes = await db
    .selectFrom('node')
    .select(['id', 'title', 'description', 'tags', 'created_at', 'updated_at'])
    .where('org_id', '=', orgId)
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  const edges = await db.selectFrom('edge').selectAll().where('org_id', '=', orgId).execute()
  return { nodes, edges }
}

async function drawGraph(org: OrgRow, rows: Awaited<ReturnType<typeof readRows>>) {
  const visible = new Set(rows.nodes.map((row) => row.id))
  const shown = rows.edges.filter((edge) => visible.has(edge.source) && visible.has(edge.target))
  const { counts: counted, hidden } = await countsAt(org, [...visible], shown)
  const cyclic = new Set(hidden.map(({ parent, child }) => `${parent} ${child}`))
  const edges = shown
    .filter((edge) => edge.edge_type !== 'parent_child' || !cyclic.has(`${edge.source} ${edge.target}`))
    .map(toGraphEdge)
    .sort((a, b) => (a.id < b.id ? -1 : 1))
  const nodes = rows.nodes.map(({ tags, ...row }) => {
    const count = counted.get(row.id)
    return {
      ...row,
      tags: JSON.parse(tags) as string[], // written by follow.ts
      num_parents: count?.parents ?? 0,
      num_children: count?.children ?? 0,
      num_ancestors: count?.ancestors ?? 0,
      num_descendants: count?.descendants ?? 0,
    }
  })
  return { org_id: org.id, org_name: org.name, nodes, edges, total_nodes: nodes.length, total_edges: edges.length }
}

/** `<child>/parents/<parent>` or `<holder>/connections/<id>`: where the edge lies. */
export function toGraphEdge(edge: Selectable<EdgeTable>): GraphEdge {
  const { holder, key, source, target, edge_type, connection_type, label } = edge
  const folder = edge_type === 'parent_child' ? 'parents' : 'connections'
  return { id: `${holder}/${folder}/${key}`, source, target, edge_type, connection_type, label, parent_node_id: source }
}

/** Counted anew only when the shape of the graph is another one: the text of a node changes no count. */
async function countsAt(
  org: OrgRow,
  ids: readonly string[],
  edges: readonly Selectable<EdgeTable>[],
): Promise<Counted> {
  const version = `${org.epoch}-${org.graph_version}`
  const known = counts.get(org.id)
  if (known?.version === version) return known.value
  const arcs = edges
    .filter((edge) => edge.edge_type === 'parent_child')
    .map((edge) => ({ parent: edge.source, child: edge.target }))
  const value = await countRelatives(ids, arcs)
  counts.set(org.id, { version, value })
  return value
}
