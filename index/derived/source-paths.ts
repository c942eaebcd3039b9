/** Where the nodes of an organisation come from: the property `source_path` that an import gives them, and their aliases. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import { isInOrg } from './in-org.ts'
import type { IndexSchema } from './schema.ts'

export interface SourceRow {
  readonly id: string
  readonly title: string
  readonly path: string
  /** JSON: the properties `aliases` and `alias`, of any shape. */
  readonly aliases: string | null
}

/** Rows of one statement: their properties have some KiB at most, 64 KiB each in the worst case. */
const rowsAtOnce = 500
/** Bytes of properties that are looked into. */
const maxProperties = 65_536
/** Characters of a path that an import can have given, and of the aliases of all nodes: those that come after are left out. */
const maxPath = 4_096
const maxAliases = 8_388_608

/** The oldest first, `limit` of them. */
export async function listSources(db: Kysely<IndexSchema>, orgId: string, limit: number): Promise<SourceRow[]> {
  const sources: SourceRow[] = []
  let room = maxAliases
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
      order by created_at, id limit ${rowsAtOnce}`.execute(db)
    for (const { id, title, path, aliases } of rows) {
      if (typeof path !== 'string' || path.length > maxPath || sources.length >= limit) continue
      room -= aliases?.length ?? 0
      sources.push({ id, title, path, aliases: room < 0 ? null : aliases })
    }
    last = rows.at(-1)
    await nextTurn()
  }
  return sources
}

/** The title of each of these nodes that the organisation has. */
export async function titlesOf(
  db: Kysely<IndexSchema>,
  orgId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const titles = new Map<string, string>()
  for (let from = 0; from < ids.length; from += rowsAtOnce) {
    const rows = await db
      .selectFrom('node')
      .select(['id', 'title'])
      .where(isInOrg('org_id', orgId))
      .where('id', 'in', ids.slice(from, from + rowsAtOnce))
      .execute()
    for (const { id, title } of rows) titles.set(id, title)
    await nextTurn()
  }
  return titles
}
