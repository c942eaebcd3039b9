/** Reads and writes the vectors of passages and nodes. A writer gives each change of a node's row the next `seq`. */
import type { Transaction } from 'kysely'
import { changeRows, readRows } from '../sqlite/statements.ts'
import { moveProgress, type NewProgress, readGeneration, type VectorsAt, type WriterAt } from './progress.ts'
import type { VectorsDb, VectorsSchema } from './schema.ts'

/** The length of a key in bytes. */
export const keyBytes = 16

interface NewPassage {
  readonly key: Buffer
  /** Undefined: the model refuses the text. */
  readonly vector: Int8Array | undefined
}

export interface NewNode {
  readonly id: string
  /** Empty if main does not exist. */
  readonly head: string
  readonly keys: readonly Buffer[]
  /** Undefined if none of its passages has a vector. */
  readonly vector: Int8Array | undefined
  readonly characters: number
}

/** One transaction of a writer. */
export interface VectorChange {
  readonly passages?: readonly NewPassage[]
  readonly nodes?: readonly NewNode[]
  /** Ids of deleted nodes. */
  readonly gone?: readonly string[]
  readonly progress?: NewProgress
}

/** `erased`: the organisation was erased since the writer began. `missing`: passages of a node were swept. */
export type WriteOutcome = 'written' | 'erased' | 'missing'

/** Writes all of the change, or nothing. @throws Error: a vector has another length than those of its model */
export async function writeVectors(
  trx: Transaction<VectorsSchema>,
  at: WriterAt,
  { passages = [], nodes = [], gone = [], progress }: VectorChange,
): Promise<WriteOutcome> {
  if ((await readGeneration(trx, at.orgId)) !== at.generation) return 'erased'
  const seq = await readSeq(trx, at)
  if (seq === undefined) return 'erased'
  const wanted = [...new Set(nodes.flatMap(({ keys }) => keys.map((key) => key.toString('hex'))))]
  const given = new Set(passages.map(({ key }) => key.toString('hex')))
  const older = wanted.filter((key) => !given.has(key))
  if ((await countPassages(trx, at, older)) < older.length) return 'missing'
  await requireDimensions(trx, at, passages)
  for (const { key, vector } of passages) await changeRows(trx, insertPassage, at.orgId, at.model, key, bytesOf(vector))
  const ids = JSON.stringify([...nodes.map(({ id }) => id), ...gone])
  const before = await countLive(trx, at, ids)
  let next = seq
  for (const { id, head, keys, vector, characters } of nodes) {
    const values = [Buffer.concat(keys), bytesOf(vector), characters]
    await changeRows(trx, putNode, at.orgId, at.model, id, ++next, head, ...values)
  }
  for (const id of gone) next += await changeRows(trx, endNode, next + 1, at.orgId, at.model, id)
  const more = (await countLive(trx, at, ids)) - before
  if (next > seq) await changeRows(trx, setSeq, next, more, at.orgId, at.model)
  if (progress) await moveProgress(trx, at, progress)
  return 'written'
}

// The first vector of a key wins, because an endpoint may answer with other bits.
const insertPassage = 'insert or ignore into passage (org_id, model, key, vector) values (?, ?, ?, ?)'
const putNode = `
  insert into node (org_id, model, node_id, seq, head, gone, keys, vector, characters) values (?, ?, ?, ?, ?, 0, ?, ?, ?)
  on conflict (org_id, model, node_id) do update set seq = excluded.seq, head = excluded.head, gone = 0,
    keys = excluded.keys, vector = excluded.vector, characters = excluded.characters`
const endNode = `
  update node set seq = ?, head = '', gone = 1, vector = x''
  where org_id = ? and model = ? and node_id = ? and gone = 0`
const setSeq = 'update position set seq = ?, settled = settled + ? where org_id = ? and model = ?'

async function readSeq(trx: Transaction<VectorsSchema>, { orgId, model }: VectorsAt): Promise<number | undefined> {
  const text = 'select seq from position where org_id = ? and model = ?'
  return (await readRows<{ seq: number }>(trx, text, orgId, model))[0]?.seq
}

const countOfPassages = `
  select count(*) as count from json_each(?) as wanted
    cross join passage on passage.org_id = ? and passage.model = ? and passage.key = unhex(wanted.value)`

async function countPassages(trx: Transaction<VectorsSchema>, { orgId, model }: VectorsAt, keys: readonly string[]) {
  if (keys.length === 0) return 0
  const [row] = await readRows<{ count: number }>(trx, countOfPassages, JSON.stringify(keys), orgId, model)
  return row?.count ?? 0
}

async function countLive(trx: Transaction<VectorsSchema>, { orgId, model }: VectorsAt, ids: string): Promise<number> {
  const text = `select count(*) as count from node
    where org_id = ? and model = ? and gone = 0 and node_id in (select value from json_each(?))`
  return (await readRows<{ count: number }>(trx, text, orgId, model, ids))[0]?.count ?? 0
}

async function requireDimensions(
  trx: Transaction<VectorsSchema>,
  { model }: VectorsAt,
  passages: readonly NewPassage[],
): Promise<void> {
  const lengths = new Set(passages.flatMap(({ vector }) => (vector ? [vector.length] : [])))
  const [first, other] = lengths
  if (first === undefined) return
  await changeRows(trx, 'update model set dimensions = ? where number = ? and dimensions = 0', first, model)
  const [row] = await readRows<{ dimensions: number }>(trx, 'select dimensions from model where number = ?', model)
  const wrong = [first, other].find((length) => length !== undefined && length !== row?.dimensions)
  if (wrong !== undefined)
    throw new Error(`The model answers with ${wrong} dimensions, but its vectors have ${row?.dimensions}`)
}

function bytesOf(vector: Int8Array | undefined): Buffer {
  return vector ? Buffer.from(vector.buffer, vector.byteOffset, vector.length) : Buffer.alloc(0)
}

/** Returns the heads of those nodes that have rows and are not deleted. */
export async function readSettledHeads(
  db: VectorsDb,
  { orgId, model }: VectorsAt,
  nodeIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const text = `select node_id, head from node
    where org_id = ? and model = ? and gone = 0 and node_id in (select value from json_each(?))`
  const rows = await readRows<{ node_id: string; head: string }>(db, text, orgId, model, JSON.stringify(nodeIds))
  return new Map(rows.map(({ node_id, head }) => [node_id, head]))
}

const passagesOfKeys = `
  select lower(hex(passage.key)) as key, passage.vector from json_each(?) as wanted
    cross join passage on passage.org_id = ? and passage.model = ? and passage.key = unhex(wanted.value)`

/** Returns the known vectors by key in hex. An empty one: the model refuses the text. @param keys a few hundred */
export async function readVectors(
  db: VectorsDb,
  { orgId, model }: VectorsAt,
  keys: readonly string[],
): Promise<ReadonlyMap<string, Int8Array>> {
  if (keys.length === 0) return new Map()
  const rows = await readRows<KeyRow>(db, passagesOfKeys, JSON.stringify(keys), orgId, model)
  return new Map(rows.map(({ key, vector }) => [key, asVector(vector)]))
}

interface KeyRow {
  readonly key: string
  readonly vector: Buffer
}

/** Copies bytes of a row, because SQLite's buffers may share memory. */
export function asVector(bytes: Uint8Array): Int8Array {
  return new Int8Array(bytes)
}

/** Lists nodes that are not deleted, in the order of ids. */
export async function listSettled(
  db: VectorsDb,
  { orgId, model }: VectorsAt,
  afterId: string,
  limit: number,
): Promise<string[]> {
  const text = `select node_id from node
    where org_id = ? and model = ? and node_id > ? and gone = 0 order by node_id limit ?`
  return (await readRows<{ node_id: string }>(db, text, orgId, model, afterId, limit)).map(({ node_id }) => node_id)
}
