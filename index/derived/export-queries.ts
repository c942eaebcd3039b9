/** The nodes of an organisation as an export needs them to find a place for each. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import type { IndexSchema } from './schema.ts'

export interface PlacedRow {
  readonly id: string
  readonly title: string
  /** The property `source_path`, of whatever type; null where there is none. */
  readonly source: unknown
  /** The id of the first parent in the organisation. */
  readonly parent: string | null
  readonly created_at: string
}

/** Rows of one statement: their properties have some KiB at most, 64 KiB each in the worst case. */
const rowsAtOnce = 500
/** Bytes of properties that are looked into. */
const maxProperties = 65_536

/** All of them, the oldest first, in slices with turns of the event loop in between. */
export async function* listExportRows(db: Kysely<IndexSchema>, orgId: string): AsyncGenerator<readonly PlacedRow[]> {
  let last: Pick<PlacedRow, 'created_at' | 'id'> | undefined = { created_at: '', id: '' }
  while (last) {
    const { rows }: { rows: PlacedRow[] } = await sql<PlacedRow>`
      select id, title, created_at,
        case when octet_length(properties) <= ${maxProperties} then json_extract(properties, '$.source_path') end as source,
        (select min(edge.source) from edge join node as parent on parent.id = edge.source and parent.org_id = ${orgId}
          where edge.target = node.id and edge.edge_type = 'parent_child') as parent
      from node where org_id = ${orgId} and (created_at, id) > (${last.created_at}, ${last.id})
      order by created_at, id limit ${rowsAtOnce}`.execute(db)
    yield rows
    last = rows.at(-1)
    await nextTurn()
  }
}
