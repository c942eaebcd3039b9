/** Reads the names of nodes: titles, aliases, and the property `source_path`, which imports set. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import * as limits from '../limits.ts'
import { isInOrg } from './in-org.ts'
import type { IndexSchema } from './schema.ts'
import type { Sees } from './sees.ts'

export interface SourceRow {
  readonly id: string
  readonly title: string
  /** Undefined if no import made the node. */
  readonly path: string | undefined
  /** The properties `aliases` and `alias`, of any shape, as JSON. */
  readonly aliases: string | null
}

/** Rows per statement. Their properties take a few KiB, in the worst case 64 KiB each. */
const rowsAtOnce = 500
/** Properties over this many bytes are not parsed. */
const maxProperties = 65_536
/** Maximum characters of a path from an import. Omits longer paths. */
const maxPath = 4_096

/** Lists up to `limit` nodes that have a source or aliases, oldest first. */
export async function listSources(db: Kysely<IndexSchema>, { orgId }: Sees, limit: number): Promise<SourceRow[]> {
  const sources: SourceRow[] = []
  let room = limits.aliasUnits
  let last: { created_at: string; id: string } | undefined = { created_at: '', id: '' }
  while (last && sources.length < limit) {
    const { rows }: { rows: (Omit<SourceRow, 'path'> & { path: unknown; created_at: string })[] } = await sql<
      Omit<SourceRow, 'path'> & { path: unknown; created_at: string }
    >`
      select id, title, created_at,
        case when octet_length(properties) <= ${maxProperties} then json_extract(properties, '$.source_path') end as path,
        case when octet_length(properties) <= ${maxProperties}
          then json_array(properties -> '$.aliases', properties -> '$.alias') end as aliases
      from node where org_id = ${orgId} and (created_at, id) > (${last.created_at}, ${last.id})
      order by created_at, id limit ${sql.lit(rowsAtOnce)}`.execute(db)
    for (const { id, title, path, aliases } of rows) {
      const source = typeof path === 'string' && path.length <= maxPath ? path : undefined
      if ((source === undefined && !hasAliases(aliases)) || sources.length >= limit) continue
      room -= aliases?.length ?? 0
      sources.push({ id, title, path: source, aliases: room < 0 ? null : aliases })
    }
    last = rows.at(-1)
    await nextTurn()
  }
  return sources
}

/** True unless both properties are missing. */
function hasAliases(aliases: string | null): boolean {
  return aliases !== null && aliases !== '[null,null]'
}

/** A title as SQLite compares it, and one of the nodes that have it. */
export interface TitledNode {
  readonly key: string
  readonly id: string
  readonly title: string
}

/**
 * Finds the nodes with these titles, at most two for each. ASCII case is ignored; the index `node_by_title` has only that.
 *
 * @param titles in lower case, as far as ASCII has it
 */
export async function nodesTitled(
  db: Kysely<IndexSchema>,
  { orgId }: Sees,
  titles: readonly string[],
): Promise<TitledNode[]> {
  const found: TitledNode[] = []
  for (let from = 0; from < titles.length; from += rowsAtOnce) {
    const { rows } = await sql<{ key: string; nodes: string }>`
      select value as key, (
        select json_group_array(json_array(id, title)) from (
          select id, title from node where org_id = ${orgId} and lower(title) = asked.value order by id limit 2)) as nodes
      from json_each(${JSON.stringify(titles.slice(from, from + rowsAtOnce))}) as asked`.execute(db)
    for (const { key, nodes } of rows)
      for (const [id, title] of JSON.parse(nodes) as [string, string][]) found.push({ key, id, title }) // the query made it
    await nextTurn()
  }
  return found
}

/** Maps ids to titles. Omits nodes that are not in the organisation. */
export async function titlesOf(
  db: Kysely<IndexSchema>,
  sees: Sees,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const titles = new Map<string, string>()
  for (let from = 0; from < ids.length; from += rowsAtOnce) {
    const rows = await db
      .selectFrom('node')
      .select(['id', 'title'])
      .where(isInOrg('org_id', sees.orgId))
      .where('id', 'in', ids.slice(from, from + rowsAtOnce))
      .execute()
    for (const { id, title } of rows) titles.set(id, title)
    await nextTurn()
  }
  return titles
}
