/** Models, and how far the rows of each organisation follow the index. */
import type { Transaction } from 'kysely'
import { changeRows, readRows } from '../sqlite/statements.ts'
import type { VectorsDb, VectorsSchema } from './schema.ts'

/** The rows of an organisation and a model. */
export interface VectorsAt {
  readonly orgId: string
  /** The model's number. */
  readonly model: number
}

/** The knowledge of a writer when it began. It writes nothing if the organisation was erased since. */
export interface WriterAt extends VectorsAt {
  readonly generation: string
}

/** A change of an organisation. They are ordered by version and id. */
export interface LastChange {
  readonly version: number
  readonly id: string
}

/** How far the rows of an organisation and a model follow the index. */
export interface Progress {
  readonly epoch: string
  /** The last changes that were read. */
  readonly nodes: LastChange
  readonly deletions: LastChange
  /** True if the nodes of this epoch were compared with the rows. */
  readonly isCompared: boolean
  readonly settled: number
}

/** What a writer changes. */
export interface NewProgress {
  readonly nodes?: LastChange
  readonly deletions?: LastChange
  readonly isCompared?: true
}

/** Greater than all ids. */
export const lastId = '~'

/** Returns the number of a model. Undefined: it has no vectors. */
export async function findModel(db: VectorsDb, id: string): Promise<number | undefined> {
  return (await db.selectFrom('model').select('number').where('id', '=', id).executeTakeFirst())?.number
}

/** Returns the dimensions of a model's vectors. Undefined: none was stored yet. */
export async function findDimensions(db: VectorsDb, id: string): Promise<number | undefined> {
  const row = await db.selectFrom('model').select('dimensions').where('id', '=', id).executeTakeFirst()
  return row?.dimensions || undefined
}

/** Records a model, and returns its number. */
export async function recordModel(
  trx: Transaction<VectorsSchema>,
  { id, name }: { readonly id: string; readonly name: string },
): Promise<number> {
  await changeRows(trx, 'insert or ignore into model (id, name, dimensions) values (?, ?, 0)', id, name)
  const [row] = await readRows<{ number: number }>(trx, 'select number from model where id = ?', id)
  if (row === undefined) throw new Error('The model that was just recorded is missing')
  return row.number
}

/** Returns the value that changes with each erasure. Empty: nothing was ever erased. */
export async function readGeneration(db: VectorsDb | Transaction<VectorsSchema>, orgId: string): Promise<string> {
  const [row] = await readRows<{ generation: string }>(db, 'select generation from erasure where org_id = ?', orgId)
  return row?.generation ?? ''
}

interface ProgressRow {
  epoch: string
  version: number
  after_id: string
  gone_version: number
  gone_after_id: string
  compared: number
  settled: number
}

/** The last changed node that was read. A rebuilt organisation begins at its first node. */
export function lastReadOf(progress: Progress | undefined, epoch: string): LastChange {
  return progress?.epoch === epoch ? progress.nodes : { version: 0, id: '' }
}

/** Returns undefined if the organisation has none. */
export async function findProgress(
  db: VectorsDb | Transaction<VectorsSchema>,
  { orgId, model }: VectorsAt,
): Promise<Progress | undefined> {
  const [row] = await readRows<ProgressRow>(db, 'select * from position where org_id = ? and model = ?', orgId, model)
  return (
    row && {
      epoch: row.epoch,
      nodes: { version: row.version, id: row.after_id },
      deletions: { version: row.gone_version, id: row.gone_after_id },
      isCompared: row.compared === 1,
      settled: row.settled,
    }
  )
}

// Progress that was lost continues the `seq` of its rows.
const begin = `
  insert into position (org_id, model, incarnation, epoch, version, after_id, gone_version, gone_after_id, compared,
    seq, settled, swept_ms)
  select ?, ?, lower(hex(randomblob(8))), ?, 0, '', 0, '', 0, coalesce(max(seq), 0), coalesce(sum(gone = 0), 0), ?
    from node where org_id = ? and model = ?
  on conflict (org_id, model) do update
    set epoch = excluded.epoch, version = 0, after_id = '', gone_version = 0, gone_after_id = '', compared = 0`

/**
 * Begins to follow an organisation, or begins again with another epoch. Its vectors stay.
 *
 * @returns undefined if the organisation was erased since the writer began
 */
export async function beginProgress(
  trx: Transaction<VectorsSchema>,
  at: WriterAt,
  epoch: string,
  now: Date,
): Promise<Progress | undefined> {
  if ((await readGeneration(trx, at.orgId)) !== at.generation) return undefined
  await changeRows(trx, begin, at.orgId, at.model, epoch, now.getTime(), at.orgId, at.model)
  return findProgress(trx, at)
}

/** Records the progress. `isCompared` is only ever set to true. */
export async function moveProgress(
  trx: Transaction<VectorsSchema>,
  { orgId, model }: VectorsAt,
  to: NewProgress,
): Promise<void> {
  const { nodes, deletions, isCompared } = to
  await changeRows(
    trx,
    `update position set version = coalesce(?, version), after_id = coalesce(?, after_id),
        gone_version = coalesce(?, gone_version), gone_after_id = coalesce(?, gone_after_id), compared = max(compared, ?)
      where org_id = ? and model = ?`,
    nodes?.version ?? null,
    nodes?.id ?? null,
    deletions?.version ?? null,
    deletions?.id ?? null,
    Number(isCompared ?? false),
    orgId,
    model,
  )
}

/** Returns the number of nodes with rows, also those without a text. */
export async function countSettled(db: VectorsDb, orgId: string, modelId: string): Promise<number> {
  const [row] = await readRows<{ settled: number }>(
    db,
    'select settled from position where org_id = ? and model = (select number from model where id = ?)',
    orgId,
    modelId,
  )
  return row?.settled ?? 0
}
