/**
 * Queries on the commit logs of a node, which are stored as chains. A page, a length, a containment check and a
 * divergence cost the same at any depth.
 *
 * The position of an entry is the length of the log there. A chain begins at the root, or continues another chain, its
 * base, after a position. A log is the entries of its chain downwards, and then those of the base. Entries never
 * change. If rows are missing, the commits are walked instead, but no row is wrong. Each read is one statement and sees
 * one snapshot.
 */
import type { Transaction } from 'kysely'
import { readRows } from '../sqlite/statements.ts'
import type { IndexDb, IndexSchema } from './schema.ts'

export type Trx = Transaction<IndexSchema>

/** The end of a commit's own log: its chain, and the log's length. */
export interface LogEnd {
  readonly chain: number
  readonly pos: number
  /** The highest position up to this one that is not a cut. 0 if all are cuts. */
  readonly bend: number
}

/** Rows per transaction, which take about 20 ms. */
export const rowsPerTransaction = 2_000

/** SQL for a commit's entry and its path of chains. Each chain on the path counts from above `lo` up to `hi`. */
const pathOf = (name: string) => `
  ${name}_start (chain, pos, bend) as (
    select entry.chain, entry.pos, entry.bend from entry join chain on chain.id = entry.chain
    where entry.oid = ? and entry.bend <> entry.pos and chain.node_id = ? and chain.whole = 1 limit 1),
  ${name} (chain, lo, hi, base) as (
    select chain.id, chain.base_pos, ${name}_start.pos, chain.base_chain
    from ${name}_start join chain on chain.id = ${name}_start.chain
    union all
    select chain.id, chain.base_pos, ${name}.lo, chain.base_chain from ${name} join chain on chain.id = ${name}.base)`

const pageQuery = `with recursive ${pathOf('path')},
  bounds (lo, hi) as (select pos - ? - ?, pos - ? from path_start),
  part (chain, lo, hi) as (
    select path.chain, case when path.lo > bounds.lo then path.lo else bounds.lo end,
      case when path.hi < bounds.hi then path.hi else bounds.hi end
    from path cross join bounds where path.lo < bounds.hi and path.hi > bounds.lo)
  select path_start.pos as total, lower(hex(entry.oid)) as oid from path_start
  left join (part cross join entry on entry.chain = part.chain and entry.pos > part.lo and entry.pos <= part.hi) on 1 = 1
  order by entry.pos desc`

const holdsQuery = (count: number) => `with recursive ${pathOf('path')}
  select 1 from path_start where not exists (
    select 1 from entry join path on path.chain = entry.chain
    where entry.pos > path.lo and entry.pos <= path.hi and entry.oid in (${Array(count).fill('?').join(', ')}))
  union all select 2 from path_start`

const namedQuery = `with recursive ${pathOf('path')}
  select null as oid from path_start
  union all
  select entry.oid as oid from entry cross join path
  where entry.oid between ? and ? and path.chain = entry.chain and entry.pos > path.lo and entry.pos <= path.hi limit 3`

const sharedQuery = `with recursive ${pathOf('a')}, ${pathOf('b')}
  select a_start.pos as a_total, b_start.pos as b_total, a_start.bend as a_bend, b_start.bend as b_bend,
    (select max(case when a.hi < b.hi then a.hi else b.hi end) from a join b on b.chain = a.chain) as shared
  from a_start cross join b_start`

const placeQuery = `select entry.chain as chain, entry.pos as pos, entry.bend as bend from entry join chain on chain.id = entry.chain
  where entry.oid = ? and entry.bend <> entry.pos and chain.node_id = ? and chain.whole = 1 limit 1`

const chainTips = 'select id, tip from chain where node_id = ? and whole = 1 order by id'

/** Returns the logs of one node through the interface that gitstore's History reads. */
export function findKnownLogs(db: IndexDb, nodeId: string) {
  return {
    isCut: async (oid: string): Promise<boolean> => (await findLogEnd(db, nodeId, oid)) !== undefined,
    tips: async (): Promise<string[]> => {
      const rows = await db
        .selectFrom('chain')
        .innerJoin('entry', (join) => join.onRef('entry.chain', '=', 'chain.id').onRef('entry.pos', '=', 'chain.tip'))
        .select('entry.oid')
        .where('chain.node_id', '=', nodeId)
        .where('chain.whole', '=', 1)
        .execute()
      return rows.map(({ oid }) => fromBytes(oid))
    },
    page: async (cut: string, offset: number, limit: number) => {
      const rows = await readRows<{ total: number; oid: string }>(
        db,
        pageQuery,
        toBytes(cut),
        nodeId,
        offset,
        limit,
        offset,
      )
      const [first] = rows
      return first && { total: first.total, oids: first.oid === '' ? [] : rows.map(({ oid }) => oid) }
    },
    holdsAny: async (cut: string, oids: readonly string[]): Promise<boolean | undefined> => {
      for (let from = 0; from < oids.length; from += 100) {
        const some = oids.slice(from, from + 100)
        const count = some.length === 1 ? 1 : 100
        const asked = Array.from({ length: count }, (_, n) => toBytes(some[n] ?? some[0] ?? ''))
        const rows = await readRows(db, holdsQuery(count), toBytes(cut), nodeId, ...asked)
        if (rows.length === 0) return undefined
        if (rows.length === 1) return true
      }
      return false
    },
    named: async (cut: string, prefix: string): Promise<string[] | undefined> => {
      const range = [prefix.padEnd(40, '0'), prefix.padEnd(40, 'f')].map(toBytes)
      const rows = await readRows<{ oid: Buffer | null }>(db, namedQuery, toBytes(cut), nodeId, ...range)
      return rows.length === 0 ? undefined : rows.flatMap(({ oid }) => (oid ? [fromBytes(oid)] : []))
    },
    shared: async (a: string, b: string) => {
      interface Row {
        a_total: number
        b_total: number
        a_bend: number
        b_bend: number
        shared: number | null
      }
      const [row] = await readRows<Row>(db, sharedQuery, toBytes(a), nodeId, toBytes(b), nodeId)
      if (!row) return undefined
      const shared = row.shared ?? 0
      return { a: row.a_total, b: row.b_total, shared, straight: row.a_bend <= shared && row.b_bend <= shared }
    },
  }
}

export async function findLogEnd(db: IndexDb, nodeId: string, oid: string): Promise<LogEnd | undefined> {
  const [place] = await readRows<LogEnd>(db, placeQuery, toBytes(oid), nodeId)
  return place
}

/** Identifies the state of the node's chains. A log computed from them can be stored on them while it is the same. */
export async function chainsOf(db: IndexDb, nodeId: string): Promise<string> {
  const rows = await readRows<{ id: number; tip: number }>(db, chainTips, nodeId)
  return rows.map(({ id, tip }) => `${id}:${tip}`).join(' ')
}

/** Returns the columns of a branch's row that locate the end of its head's log. */
export async function logEndOf(trx: Trx, nodeId: string, head: string) {
  const place = await findLogEnd(trx, nodeId, head)
  return { chain: place?.chain ?? null, pos: place?.pos ?? null }
}

export function toBytes(oid: string): Buffer {
  return Buffer.from(oid, 'hex')
}

function fromBytes(bytes: Buffer): string {
  return bytes.toString('hex')
}
