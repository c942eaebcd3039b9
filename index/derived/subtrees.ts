/** The nodes at or below some nodes. Walks up from the nodes of a list, because most descendants are in none. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import type { IndexDb } from './schema.ts'
import type { Sees } from './sees.ts'

/** Rows per statement, and ids that it starts from. A statement takes at most 5 ms. */
const rowsAtOnce = 2_000
const idsAtOnce = 500

interface Upward {
  readonly child: string
  readonly parent: string
}

/** The nodes that are at or below some nodes, as far as callers have asked. */
export interface Subtree {
  /** Returns a set with the ids that are at or below one of the nodes. Yields to the event loop between statements. */
  select(ids: Iterable<string>): Promise<ReadonlySet<string>>
}

/** Reads each ancestor of the ids once. The ancestors of the nodes themselves are not read. */
export function openSubtree(db: IndexDb, sees: Sees, ...nodeIds: readonly string[]): Subtree {
  const seen = new Set(nodeIds)
  const below = new Set(nodeIds)
  return {
    select: async (ids) => {
      const children = new Map<string, string[]>()
      let level = unseen(seen, ids)
      while (level.length > 0) {
        const parents: string[] = []
        for (let at = 0; at < level.length; at += idsAtOnce) {
          for (const { child, parent } of await listParents(db, sees, level.slice(at, at + idsAtOnce))) {
            parents.push(parent)
            const known = children.get(parent)
            if (known) known.push(child)
            else children.set(parent, [child])
          }
          await nextTurn()
        }
        level = unseen(seen, parents)
      }
      const reached = [...children.keys()].filter((id) => below.has(id))
      for (let id = reached.pop(); id !== undefined; id = reached.pop())
        for (const child of children.get(id) ?? []) {
          if (!below.has(child)) reached.push(child)
          below.add(child)
        }
      return below
    },
  }
}

/** Returns the ids that are not in `seen`, and adds them. */
function unseen(seen: Set<string>, ids: Iterable<string>): string[] {
  const found = new Set<string>()
  for (const id of ids) if (!seen.has(id)) found.add(id)
  for (const id of found) seen.add(id)
  return [...found]
}

/** Lists the parents of the nodes in the organisation. Halves a list of nodes that have too many. */
async function listParents(db: IndexDb, sees: Sees, ids: readonly string[]): Promise<readonly Upward[]> {
  // A node has at most 10,000 parents.
  const most = ids.length === 1 ? 10_000 : rowsAtOnce
  const { rows } = await sql<Upward>`
    select edge.target as child, edge.source as parent
    from json_each(${JSON.stringify(ids)}) as one
      cross join edge on edge.target = one.value and edge.edge_type = 'parent_child'
      cross join node on node.id = edge.source and +node.org_id = ${sees.orgId}
    limit ${sql.lit(most)}`.execute(db)
  if (ids.length === 1 || rows.length < most) return rows
  const half = Math.ceil(ids.length / 2)
  await nextTurn()
  return [...(await listParents(db, sees, ids.slice(0, half))), ...(await listParents(db, sees, ids.slice(half)))]
}
