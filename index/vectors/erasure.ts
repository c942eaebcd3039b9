/** Deletes vectors in slices. `scrub.ts` then removes their bytes from the file. */
import type { Transaction } from 'kysely'
import { changeRows, readRows } from '../sqlite/statements.ts'
import type { VectorsAt } from './progress.ts'
import type { VectorsDb, VectorsSchema } from './schema.ts'
import { keyBytes } from './vectors.ts'

const newGeneration = `
  insert into erasure (org_id, generation, unscrubbed) values (?, lower(hex(randomblob(8))), '')
  on conflict (org_id) do update set generation = excluded.generation`
const needScrub = `
  insert into erasure (org_id, generation, unscrubbed) values (?, '', lower(hex(randomblob(8))))
  on conflict (org_id) do update set unscrubbed = excluded.unscrubbed`

/** Stops writers that began before. Deletes the positions, so that readers drop what they have. */
export async function beginErasure(trx: Transaction<VectorsSchema>, orgId: string): Promise<void> {
  await changeRows(trx, newGeneration, orgId)
  if (await hasVectors(trx, orgId)) await changeRows(trx, needScrub, orgId)
  await changeRows(trx, 'delete from position where org_id = ?', orgId)
}

async function hasVectors(trx: Transaction<VectorsSchema>, orgId: string): Promise<boolean> {
  const [row] = await readRows<{ found: number }>(
    trx,
    `select exists (select 1 from passage where org_id = ?)
      or exists (select 1 from node where org_id = ?) as found`,
    orgId,
    orgId,
  )
  return row?.found === 1
}

/** Rows deleted in one transaction. */
const rowsAtOnce = 500

/** Deletes some rows of an organisation. Returns false if none are left. @param model null: of all models */
export async function eraseSlice(
  trx: Transaction<VectorsSchema>,
  orgId: string,
  model: number | null,
): Promise<boolean> {
  const ofModel = model === null ? '' : ' and model = ?'
  const values = model === null ? [orgId] : [orgId, model]
  let deleted = 0
  for (const table of ['passage', 'node']) {
    const some = `select rowid from ${table} where org_id = ?${ofModel} limit ${rowsAtOnce}`
    deleted += await changeRows(trx, `delete from ${table} where rowid in (${some})`, ...values)
  }
  return deleted > 0
}

/**
 * Deletes the rows of nodes, for all models. Stops writers that began before, and readers read the organisation's other
 * rows again.
 */
export async function eraseNodeRows(
  trx: Transaction<VectorsSchema>,
  orgId: string,
  nodeIds: readonly string[],
): Promise<void> {
  const ids = JSON.stringify(nodeIds)
  const ofNodes = 'node.org_id = ? and node_id in (select value from json_each(?))'
  await changeRows(trx, newGeneration, orgId)
  await changeRows(trx, needScrub, orgId)
  await changeRows(
    trx,
    `update position set incarnation = lower(hex(randomblob(8))), settled = settled - (
        select count(*) from node where node.model = position.model and gone = 0 and ${ofNodes})
      where org_id = ?`,
    orgId,
    ids,
    orgId,
  )
  await changeRows(trx, `delete from node where ${ofNodes}`, orgId, ids)
}

/** Lists the models with rows of an organisation. */
export async function listModelsOf(db: VectorsDb, orgId: string): Promise<number[]> {
  const rows = await readRows<{ number: number }>(
    db,
    `select number from model where exists (select 1 from passage where org_id = ? and model = number)
      or exists (select 1 from node where org_id = ? and model = number)
      or exists (select 1 from position where org_id = ? and model = number)`,
    orgId,
    orgId,
    orgId,
  )
  return rows.map(({ number }) => number)
}

/** Lists nodes with rows, also deleted ones, in the order of ids. */
export async function listNodeIds(
  db: VectorsDb,
  { orgId, model }: VectorsAt,
  afterId: string,
  limit: number,
): Promise<string[]> {
  const text = 'select node_id from node where org_id = ? and model = ? and node_id > ? order by node_id limit ?'
  return (await readRows<{ node_id: string }>(db, text, orgId, model, afterId, limit)).map(({ node_id }) => node_id)
}

/** Lists keys of passages in their order, in hex. */
export async function listKeys(
  db: VectorsDb,
  { orgId, model }: VectorsAt,
  afterKey: string,
  limit: number,
): Promise<string[]> {
  const rows = await readRows<{ key: string }>(
    db,
    `select lower(hex(key)) as key from passage
      where org_id = ? and model = ? and key > unhex(?) order by passage.key limit ?`,
    orgId,
    model,
    afterKey,
    limit,
  )
  return rows.map(({ key }) => key)
}

export interface NamedKeys {
  readonly seq: number
  /** In hex. */
  readonly keys: readonly string[]
}

/** Lists the keys that rows of nodes name, in the order of their changes. */
export async function listNamedKeys(
  db: VectorsDb | Transaction<VectorsSchema>,
  { orgId, model }: VectorsAt,
  seq: number,
  limit: number,
): Promise<NamedKeys[]> {
  const text = 'select seq, keys from node where org_id = ? and model = ? and seq > ? order by seq limit ?'
  const rows = await readRows<{ seq: number; keys: Buffer }>(db, text, orgId, model, seq, limit)
  return rows.map((row) => {
    const count = row.keys.length / keyBytes
    const keys = Array.from({ length: count }, (_, n) => row.keys.toString('hex', n * keyBytes, (n + 1) * keyBytes))
    return { seq: row.seq, keys }
  })
}

/** Deletes passages, except those that rows of nodes have named since. Returns false if too many rows have changed. */
export async function deleteUnnamed(
  trx: Transaction<VectorsSchema>,
  at: VectorsAt,
  keys: readonly string[],
  sinceSeq: number,
): Promise<boolean> {
  const changed = await listNamedKeys(trx, at, sinceSeq, rowsAtOnce)
  if (changed.length === rowsAtOnce) return false
  const named = new Set(changed.flatMap((row) => row.keys))
  const unnamed = keys.filter((key) => !named.has(key))
  await changeRows(trx, needScrub, at.orgId)
  await changeRows(
    trx,
    `delete from passage where org_id = ? and model = ? and key in (
      select unhex(value) from json_each(?))`,
    at.orgId,
    at.model,
    JSON.stringify(unnamed),
  )
  return true
}

/** Deletes a model's position of an organisation. */
export async function deleteProgress(trx: Transaction<VectorsSchema>, { orgId, model }: VectorsAt): Promise<void> {
  await changeRows(trx, newGeneration, orgId)
  await changeRows(trx, needScrub, orgId)
  await changeRows(trx, 'delete from position where org_id = ? and model = ?', orgId, model)
}

/** Returns an organisation that has rows and was not swept since this time. */
export async function findSweepDue(
  db: VectorsDb,
  before: Date,
): Promise<(VectorsAt & { readonly modelId: string }) | undefined> {
  const [row] = await readRows<{ org_id: string; model: number; id: string }>(
    db,
    `select org_id, model, model.id from position join model on model.number = position.model
      where swept_ms < ? order by swept_ms limit 1`,
    before.getTime(),
  )
  return row && { orgId: row.org_id, model: row.model, modelId: row.id }
}

export async function markSwept(trx: Transaction<VectorsSchema>, { orgId, model }: VectorsAt, at: Date): Promise<void> {
  const text = 'update position set swept_ms = ? where org_id = ? and model = ?'
  await changeRows(trx, text, at.getTime(), orgId, model)
}

/** Returns marks of deletions whose bytes may still be in the file. */
export async function listUnscrubbed(db: VectorsDb): Promise<string[]> {
  const rows = await readRows<{ unscrubbed: string }>(db, "select unscrubbed from erasure where unscrubbed <> ''")
  return rows.map(({ unscrubbed }) => unscrubbed)
}

/** Removes these marks. An organisation with later deletions has another one. */
export async function forgetUnscrubbed(trx: Transaction<VectorsSchema>, marks: readonly string[]): Promise<void> {
  const text = "update erasure set unscrubbed = '' where unscrubbed in (select value from json_each(?))"
  await changeRows(trx, text, JSON.stringify(marks))
}
