/** Reads the fields of an organisation's nodes that an export needs to choose their paths. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import type { IndexSchema } from '../../../../index/derived/schema.ts'
import type { Sees } from '../../../../index/derived/sees.ts'

export interface PlacedRow {
  readonly id: string
  readonly title: string
  /** The property `source_path`, of any type; null if the node has none. */
  readonly source: unknown
  /** The id of the first parent in the organisation. */
  readonly parent: string | null
  readonly created_at: string
}

/** Rows per statement. Their properties take a few KiB, in the worst case 64 KiB each. */
const rowsAtOnce = 500
/** Properties over this many bytes are not parsed. */
const maxProperties = 65_536

/** Yields all nodes, oldest first, in slices with turns of the event loop in between. */
export async function* listExportRows(db: Kysely<IndexSchema>, { orgId }: Sees): AsyncGenerator<readonly PlacedRow[]> {
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
