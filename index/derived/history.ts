/**
 * The logs of a node's commits, laid out as chains: a page, a length, a containment and a divergence cost the same at any
 * depth. An entry's place is the length of the log there. A chain continues another one, its base, from some place on, or
 * begins at the root; each log is its entries downwards and then the base's. What is said of an entry never changes, so
 * rows may be missing (then one walks), never wrong; each read is one statement, hence one snapshot.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { CompiledQuery, type Kysely, type Transaction } from 'kysely'
import type { IndexSchema } from './schema.ts'

type Db = Kysely<IndexSchema>
type Trx = Transaction<IndexSchema>

/** The newest entries of a log on top of the log of `base`; undefined: there is nothing below. */
export interface LogToLay {
  /** Newest first; `cut`: this entry and all below are exactly its own log. */
  readonly entries: readonly { readonly oid: string; readonly cut: boolean }[]
  readonly base: string | undefined
}

/** Where a commit's own log ends: the chain, and the log's length. */
interface Place {
  readonly chain: number
  readonly pos: number
  /** The highest place, at or below this one, that is not a cut; 0 if there is none. */
  readonly bend: number
}

/** Rows of one transaction: about 20 ms. */
const batch = 2_000
/** Rows that are moved from one chain to another at most. */
const moveAtMost = 10_000

/** The commit's place, then its chain and all those that it stands on, each from above `lo` up to `hi`. */
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

const insertEntry = 'insert into entry (chain, pos, oid, bend) values (?, ?, ?, ?)'

async function ask<R>(db: Db, query: string, parameters: readonly unknown[]): Promise<readonly R[]> {
  return (await db.executeQuery<R>(CompiledQuery.raw(query, [...parameters]))).rows
}

/** The logs of one node as gitstore's History asks for them. */
export function knownLogs(db: Db, nodeId: string) {
  return {
    isCut: async (oid: string): Promise<boolean> => (await findPlace(db, nodeId, oid)) !== undefined,
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
      const rows = await ask<{ total: number; oid: string }>(db, pageQuery, [
        toBytes(cut),
        nodeId,
        offset,
        limit,
        offset,
      ])
      const [first] = rows
      return first && { total: first.total, oids: first.oid === '' ? [] : rows.map(({ oid }) => oid) }
    },
    holdsAny: async (cut: string, oids: readonly string[]): Promise<boolean | undefined> => {
      for (let from = 0; from < oids.length; from += 100) {
        const some = oids.slice(from, from + 100)
        const count = some.length === 1 ? 1 : 100
        const asked = Array.from({ length: count }, (_, n) => toBytes(some[n] ?? some[0] ?? ''))
        const rows = await ask(db, holdsQuery(count), [toBytes(cut), nodeId, ...asked])
        if (rows.length === 0) return undefined
        if (rows.length === 1) return true
      }
      return false
    },
    named: async (cut: string, prefix: string): Promise<string[] | undefined> => {
      const range = [prefix.padEnd(40, '0'), prefix.padEnd(40, 'f')].map(toBytes)
      const rows = await ask<{ oid: Buffer | null }>(db, namedQuery, [toBytes(cut), nodeId, ...range])
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
      const [row] = await ask<Row>(db, sharedQuery, [toBytes(a), nodeId, toBytes(b), nodeId])
      if (!row) return undefined
      const shared = row.shared ?? 0
      return { a: row.a_total, b: row.b_total, shared, straight: row.a_bend <= shared && row.b_bend <= shared }
    },
  }
}

async function findPlace(db: Db, nodeId: string, oid: string): Promise<Place | undefined> {
  const [place] = await ask<Place>(db, placeQuery, [toBytes(oid), nodeId])
  return place
}

/** What the node's chains are: as long as it is the same, a log that was worked out from them can be laid on them. */
export async function chainsOf(db: Db, nodeId: string): Promise<string> {
  const chains = db.selectFrom('chain').select(['id', 'tip']).where('node_id', '=', nodeId).where('whole', '=', 1)
  const rows = await chains.orderBy('id').execute()
  return rows.map(({ id, tip }) => `${id}:${tip}`).join(' ')
}

/**
 * Lays a log out upon its base, or nothing and false where others have laid out some of it meanwhile, or forgotten the base.
 * For short ones, beside other rows of the transaction; `layLongLog` for others.
 */
export async function layLog(trx: Trx, nodeId: string, { entries, base }: LogToLay): Promise<boolean> {
  for (const { oid, cut } of entries) if (cut && (await findPlace(trx, nodeId, oid))) return false
  const below = base === undefined ? undefined : await findPlace(trx, nodeId, base)
  if (base !== undefined && !below) return false
  const tip = (below?.pos ?? 0) + entries.length
  const appended =
    below !== undefined &&
    (await trx
      .updateTable('chain')
      .set({ tip })
      .where('id', '=', below.chain)
      .where('tip', '=', below.pos)
      .executeTakeFirst())
  const chain = appended && appended.numUpdatedRows > 0n ? below.chain : await newChain(trx, nodeId, below, tip, 1)
  await insertEntries(trx, chain, below?.pos ?? 0, below?.bend ?? 0, [...entries].reverse())
  await balance(trx, nodeId, chain)
  return true
}

/** As layLog, for some logs in a transaction of their own; `chains` and the answer as of layLongLog. */
export function layLogs(
  write: <R>(work: (trx: Trx) => Promise<R>) => Promise<R>,
  nodeId: string,
  chains: string,
  logs: readonly LogToLay[],
): Promise<string | undefined> {
  return write(async (trx) => {
    if ((await chainsOf(trx, nodeId)) !== chains) return undefined
    for (const log of logs) await layLog(trx, nodeId, log)
    return chainsOf(trx, nodeId)
  })
}

/**
 * As layLog, in transactions of its own that hold nobody up; what is half laid out is seen by nobody. `chains` is what
 * `chainsOf` said before the log was worked out; the answer is what it says now, undefined where others were faster.
 */
export async function layLongLog(
  write: <R>(work: (trx: Trx) => Promise<R>) => Promise<R>,
  nodeId: string,
  chains: string,
  { entries, base }: LogToLay,
): Promise<string | undefined> {
  const begun = await write(async (trx) => {
    if ((await chainsOf(trx, nodeId)) !== chains) return undefined
    const below = base === undefined ? undefined : await findPlace(trx, nodeId, base)
    if (base !== undefined && !below) return undefined
    return { below, chain: await newChain(trx, nodeId, below, (below?.pos ?? 0) + entries.length, 0) }
  })
  if (!begun) return undefined
  const { below, chain } = begun
  const upwards = [...entries].reverse()
  let bend = below?.bend ?? 0
  for (let from = 0; from < upwards.length; from += batch) {
    const some = upwards.slice(from, from + batch)
    bend = await write((trx) => insertEntries(trx, chain, (below?.pos ?? 0) + from, bend, some))
    await nextTurn()
  }
  return write(async (trx) => {
    const same = (await chainsOf(trx, nodeId)) === chains
    const change = same ? { whole: 1 } : { node_id: '' }
    await trx.updateTable('chain').set(change).where('id', '=', chain).execute()
    return same ? chainsOf(trx, nodeId) : undefined
  })
}

async function newChain(
  trx: Trx,
  nodeId: string,
  below: Place | undefined,
  tip: number,
  whole: 0 | 1,
): Promise<number> {
  const { id } = await trx
    .insertInto('chain')
    .values({ node_id: nodeId, base_chain: below?.chain ?? null, base_pos: below?.pos ?? 0, tip, whole })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** The bend of the last one. */
async function insertEntries(
  trx: Trx,
  chain: number,
  below: number,
  bendBelow: number,
  upwards: LogToLay['entries'],
): Promise<number> {
  let bend = bendBelow
  for (const [at, { oid, cut }] of upwards.entries()) {
    const pos = below + at + 1
    if (!cut) bend = pos
    await trx.executeQuery(CompiledQuery.raw(insertEntry, [chain, pos, toBytes(oid), bend]))
  }
  return bend
}

/**
 * Where a chain has grown to more than twice what its base has above the fork, the two change places: so the way down from
 * any head crosses few chains, and what nobody needs any more is written over.
 */
async function balance(trx: Trx, nodeId: string, id: number): Promise<void> {
  const chain = await trx.selectFrom('chain').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
  if (chain.base_chain === null) return
  const base = await trx.selectFrom('chain').selectAll().where('id', '=', chain.base_chain).executeTakeFirstOrThrow()
  const [own, others] = [chain.tip - chain.base_pos, base.tip - chain.base_pos]
  if (own <= 2 * others || own + others > moveAtMost) return
  if (others > 0) {
    const place = { chain: base.id, pos: chain.base_pos, bend: 0 }
    const other = await newChain(trx, nodeId, place, base.tip, 1)
    await moveEntries(trx, base.id, other, chain.base_pos)
  }
  await moveEntries(trx, id, base.id, chain.base_pos)
  await trx.updateTable('chain').set({ tip: chain.tip }).where('id', '=', base.id).execute()
  await trx.deleteFrom('chain').where('id', '=', id).execute()
  await balance(trx, nodeId, base.id)
}

/** Everything above `pos`, with the branches and chains that stand there. */
async function moveEntries(trx: Trx, from: number, to: number, pos: number): Promise<void> {
  await trx.updateTable('entry').set({ chain: to }).where('chain', '=', from).where('pos', '>', pos).execute()
  await trx.updateTable('branch').set({ chain: to }).where('chain', '=', from).where('pos', '>', pos).execute()
  await trx
    .updateTable('chain')
    .set({ base_chain: to })
    .where('base_chain', '=', from)
    .where('base_pos', '>', pos)
    .execute()
}

/** Where the log of a branch's head ends, as its row has it. */
export async function placeOf(trx: Trx, nodeId: string, head: string) {
  const place = await findPlace(trx, nodeId, head)
  return { chain: place?.chain ?? null, pos: place?.pos ?? null }
}

/** Forgets what no branch and no other chain needs of `id`, and so on below. */
export async function trimChain(trx: Trx, id: number): Promise<void> {
  const chain = await trx.selectFrom('chain').selectAll().where('id', '=', id).executeTakeFirst()
  if (!chain || chain.whole === 0) return
  const head = await trx
    .selectFrom('branch')
    .select((eb) => eb.fn.max('pos').as('pos'))
    .where('chain', '=', id)
    .executeTakeFirst()
  const fork = await trx
    .selectFrom('chain')
    .select((eb) => eb.fn.max('base_pos').as('pos'))
    .where('base_chain', '=', id)
    .executeTakeFirst()
  const needed = Math.max(chain.base_pos, head?.pos ?? 0, fork?.pos ?? 0)
  if (needed === chain.tip) return
  if (needed > chain.base_pos) {
    await trx.deleteFrom('entry').where('chain', '=', id).where('pos', '>', needed).execute()
    await trx.updateTable('chain').set({ tip: needed }).where('id', '=', id).execute()
    return
  }
  await deleteChain(trx, id)
  if (chain.base_chain !== null) await trimChain(trx, chain.base_chain)
}

async function deleteChain(trx: Trx, id: number): Promise<void> {
  await trx.deleteFrom('entry').where('chain', '=', id).execute()
  await trx.deleteFrom('chain').where('id', '=', id).execute()
}

/** Nobody asks for the logs of a node that is gone; `forgetLogs` takes the rows away. */
export async function abandonLogs(trx: Trx, nodeId: string): Promise<void> {
  await trx.updateTable('chain').set({ node_id: '', whole: 0 }).where('node_id', '=', nodeId).execute()
}

/** Removes abandoned logs, some rows at a time. True when none is left. */
export async function forgetLogs(trx: Trx): Promise<boolean> {
  const chain = await trx.selectFrom('chain').selectAll().where('node_id', '=', '').limit(1).executeTakeFirst()
  if (!chain) return true
  const low = chain.tip - batch
  await trx.deleteFrom('entry').where('chain', '=', chain.id).where('pos', '>', low).execute()
  if (low > chain.base_pos) await trx.updateTable('chain').set({ tip: low }).where('id', '=', chain.id).execute()
  else await deleteChain(trx, chain.id)
  return false
}

export async function deleteAllLogs(trx: Trx): Promise<void> {
  await trx.deleteFrom('entry').execute()
  await trx.deleteFrom('chain').execute()
}

function toBytes(oid: string): Buffer {
  return Buffer.from(oid, 'hex')
}

function fromBytes(bytes: Buffer): string {
  return bytes.toString('hex')
}
