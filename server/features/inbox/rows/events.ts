/** Reads events backwards, for inboxes. Each step reads a bounded number of rows. */
import { sql } from 'kysely'
import type { Sees } from '../../../../index/derived/sees.ts'
import type { LogDb } from '../../../../index/log/schema.ts'

export interface InboxRow {
  readonly seq: number
  readonly node_id: string | null
  readonly type: string
  readonly at: string
  readonly recorded_ms: number
  readonly body: string
}

/** Events of a stretch of the log, the newest first. */
export interface Stretch {
  readonly rows: readonly InboxRow[]
  /** All wanted events from this number are in `rows`, or newer. */
  readonly from: number
  /** The number of events or index entries that were read. */
  readonly cost: number
}

const columns = sql`event.seq, event.node_id, event.type, event.at, event.recorded_ms, event.body`

/** Numbers that one statement passes over. */
const numbersAtOnce = 1_000
/** Events that one statement returns. */
const rowsAtOnce = 200
/** Newest events of each node that one statement compares. */
const eventsOfNode = 20

const isOneOf = (types: readonly string[]) => sql`event.type in (select value from json_each(${JSON.stringify(types)}))`

/** Reads the events before a number. @param atLeast events up to this number are not wanted */
export async function readBefore(
  db: LogDb,
  sees: Sees,
  { before, atLeast, types }: { readonly before: number; readonly atLeast: number; readonly types: readonly string[] },
): Promise<Stretch> {
  const low = Math.max(atLeast, before - 1 - numbersAtOnce)
  const { rows } = await sql<InboxRow>`
    select ${columns} from event
    where event.org_id = ${sees.orgId} and event.seq < ${before} and event.seq > ${low} and ${isOneOf(types)}
    order by event.seq desc limit ${sql.lit(rowsAtOnce)}`.execute(db)
  const last = rows.length === rowsAtOnce ? rows.at(-1) : undefined
  const from = last?.seq ?? low + 1
  return { rows, from, cost: before - from }
}

/** The same, only with events of these nodes. Reads an index by node, however many other events there are. */
export async function readOfNodesBefore(
  db: LogDb,
  { orgId }: Sees,
  {
    before,
    atLeast,
    types,
    nodeIds,
  }: {
    readonly before: number
    readonly atLeast: number
    readonly types: readonly string[]
    readonly nodeIds: readonly string[]
  },
): Promise<Stretch> {
  const nodes = JSON.stringify(nodeIds)
  const cuts = await sql<{ cut: number | null }>`
    select max((
      select seq from event where org_id = ${orgId} and node_id = one.value and seq < ${before} and seq > ${atLeast}
      order by seq desc limit 1 offset ${sql.lit(eventsOfNode - 1)})) as cut
    from json_each(${nodes}) as one`.execute(db)
  const low = cuts.rows[0]?.cut ?? atLeast + 1
  const found = await sql<{ seq: number }>`
    select event.seq from json_each(${nodes}) as one
    cross join event on event.org_id = ${orgId} and event.node_id = one.value
      and event.seq < ${before} and event.seq >= ${low}
    order by event.seq desc limit ${sql.lit(rowsAtOnce)}`.execute(db)
  const seqs = found.rows.map(({ seq }) => seq)
  const from = seqs.length === rowsAtOnce ? Math.min(...seqs) : low
  const { rows } = await sql<InboxRow>`
    select ${columns} from event
    where event.org_id = ${orgId} and event.seq in (select value from json_each(${JSON.stringify(seqs)}))
      and ${isOneOf(types)}
    order by event.seq desc`.execute(db)
  return { rows, from, cost: seqs.length }
}
