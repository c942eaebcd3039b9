/** Replaces all rows of one node together. */
import { randomUUID } from 'node:crypto'
import type { Insertable, Kysely, Transaction } from 'kysely'
import { compileOnce } from '../sqlite/compiled.ts'
import { changeRows, readRows } from '../sqlite/statements.ts'
import { branchRefs } from './branches.ts'
import { type NewLogPart, storeLog } from './chain-layout.ts'
import { abandonLogs, trimLog } from './chain-removal.ts'
import { logEndOf } from './chains.ts'
import { countMoves, forgetMoves } from './change-log.ts'
import { replaceChecks } from './checks.ts'
import { isProposed, type NodeRow } from './node-queries.ts'
import { insertNodeRow, type MainFields, updateNodeRow } from './node-row.ts'
import { settleChildren, settleNodes } from './placement.ts'
import { type ProposedFields, publishProposedRow, writeProposedRow } from './proposed-nodes.ts'
import { countEntries, type EntryChange, replaceEntries, replaceReviewers } from './reviews.ts'
import type { EdgeTable, IndexSchema, NodeTable, PullTable, ReviewerTable } from './schema.ts'
import { inSlices } from './slices.ts'
import { replaceTagRows } from './tags.ts'
import { titleKey } from './title-order.ts'

/** The rows of one pull request. */
export interface PullRows {
  readonly pull: Insertable<PullTable>
  readonly reviewers: readonly ReviewerTable[]
}

export interface NodeChange {
  /** The row that the change was computed from; undefined for a node without a row. */
  readonly row: (NodeRow & { readonly epoch: string }) | undefined
  readonly orgId: string
  readonly nodeId: string
  readonly ledger: string
  /** Bytes to add to the row. A node without a row has all its bytes here. */
  readonly bytes: number
  /** Full ref names to object ids. `branches` has the current refs, `indexed` those in the rows. */
  readonly branches: ReadonlyMap<string, string>
  readonly indexed: ReadonlyMap<string, string>
  /** Logs of heads that moved, each after its base. Long logs are already stored. */
  readonly logs: readonly NewLogPart[]
  readonly pulls: readonly PullRows[]
  /** Numbers of pull requests that the ledger no longer has. */
  readonly pullsGone: readonly number[]
  /** The entries and checks that changed up to the commit `ledger`. Absent if writeEntries writes them later. */
  readonly entries?: EntryChange | undefined
  /** The row of a node that is only proposed. `node` and the fields after it are then absent. */
  readonly proposed?: ProposedFields | undefined
  /** The content of main; undefined if main did not move. Present for a node that has come into being. */
  readonly node?: Omit<MainFields, 'title_key'> | undefined
  readonly text?: string
  readonly tags?: readonly string[]
  /** Absent if the edges have not changed since the row's commit. */
  readonly edges?: readonly Omit<EdgeTable, 'org_id' | 'holder'>[]
}

/** Thrown to roll back a transaction whose input is stale. The caller starts over. */
export class StaleWriteError extends Error {}

/** Returns the row of a node, proposed or not. Adds the epoch of its organisation and the number of open pull requests. */
export async function findNodeState(db: Kysely<IndexSchema>, nodeId: string) {
  return (await nodeState(db, nodeId))[0]
}

const nodeState = compileOnce(1, (db: Kysely<IndexSchema>, nodeId: string) =>
  db
    .selectFrom('any_node as node')
    .innerJoin('org', 'org.id', 'node.org_id')
    .selectAll('node')
    .select('org.epoch')
    .select((eb) =>
      eb
        .selectFrom('pull')
        .select((pull) => pull.fn.countAll<number>().as('open'))
        .whereRef('pull.node_id', '=', 'node.id')
        .where('pull.status', '=', 'open')
        .as('open_pulls'),
    )
    .where('node.id', '=', nodeId),
)

/**
 * Writes the change and returns the new versions. Writes nothing and returns undefined if the row has changed since
 * `change.row` was read.
 *
 * @throws StaleWriteError if another writer has stored the same logs
 */
export async function replaceNodeRows(
  trx: Transaction<IndexSchema>,
  change: NodeChange,
): Promise<Pick<NodeTable, 'version' | 'changed'> | undefined> {
  const { row, nodeId, orgId } = change
  const main = change.node && { ...change.node, title_key: titleKey(change.node.title) }
  const changed = await writeNodeRow(trx, change, main)
  if (changed === undefined) return undefined
  for (const log of change.logs) if (!(await storeLog(trx, nodeId, log))) throw new StaleWriteError()
  await replaceBranches(trx, change)
  for (const number of change.pullsGone) await deletePull(trx, { node_id: nodeId, number })
  // An older copy of a ledger may lack a pull request whose entries have rows.
  const fresh = row ? await listUnknownPulls(trx, change) : []
  for (const one of change.pulls) await replacePull(trx, one)
  for (const number of fresh) await countEntries(trx, nodeId, number)
  if (change.entries) {
    await replaceEntries(trx, change, change.entries)
    await replaceChecks(trx, nodeId, change.entries.checks)
  }
  if (main)
    await countUp(trx, orgId, await replaceMain(trx, { ...change, row: isProposed(row) ? undefined : row }, main))
  await countMoves(trx, orgId, [nodeId])
  return { version: (row?.version ?? 0) + 1, changed }
}

/** Writes the row and returns its `changed`. Writes nothing and returns undefined if it has changed since it was read. */
async function writeNodeRow(
  trx: Transaction<IndexSchema>,
  { row, orgId, nodeId, ledger, bytes, entries, proposed }: NodeChange,
  main: MainFields | undefined,
): Promise<number | undefined> {
  const fields = { orgId, nodeId, ledger, bytes, main, hasEntries: entries !== undefined }
  if (proposed) return writeProposedRow(trx, row?.version, fields, proposed)
  if (row && !isProposed(row)) return updateNodeRow(trx, row.version, fields)
  if (!main) return 0
  await changeRows(trx, deleteTombstone, nodeId)
  return row ? publishProposedRow(trx, row.version, fields, main) : insertNodeRow(trx, { ...fields, main })
}

/** The table of the row. */
function tableOf(row: Pick<NodeRow, 'proposed_in'>): 'node' | 'proposed_node' {
  return isProposed(row) ? 'proposed_node' : 'node'
}

const deleteTombstone = 'delete from tombstone where node_id = ?'

/**
 * Writes some missing entries and checks, and returns the row's new version. With the last ones, `ledger` is the commit
 * they were read from. Writes nothing and returns undefined if the row has changed.
 */
export async function writeEntries(
  trx: Transaction<IndexSchema>,
  row: Pick<NodeRow, 'id' | 'org_id' | 'version' | 'proposed_in'>,
  entries: EntryChange,
  ledger?: string,
): Promise<number | undefined> {
  const version = row.version + 1
  const { numUpdatedRows } = await trx
    .updateTable(tableOf(row))
    .set({ version, ...(ledger !== undefined && { entries_ledger: ledger }) })
    .where('id', '=', row.id)
    .where('version', '=', row.version)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return undefined
  await replaceEntries(trx, { orgId: row.org_id, nodeId: row.id }, entries)
  await replaceChecks(trx, row.id, entries.checks)
  return version
}

/**
 * Deletes the node. Deletes nothing and returns false if its row has changed. Triggers delete the rows of its branches
 * and pull requests. Edges of other nodes to it keep their rows, which queries then hide.
 */
export async function deleteNodeRows(
  trx: Transaction<IndexSchema>,
  row: Pick<NodeRow, 'id' | 'org_id' | 'version' | 'proposed_in'>,
): Promise<boolean> {
  const { id, org_id, version } = row
  if (isProposed(row)) return deleteProposedRows(trx, row)
  const tags = await listTagsOf(trx, id)
  const deleted = await trx
    .deleteFrom('node')
    .where('id', '=', id)
    .where('version', '=', version)
    .returning('title_key')
    .executeTakeFirst()
  if (deleted === undefined) return false
  await replaceTagRows(trx, org_id, [{ nodeId: id, before: { ...deleted, tags } }])
  await abandonLogs(trx, id)
  await forgetMoves(trx, org_id, id)
  await settleChildren(trx, org_id, [id])
  const changed = await countUp(trx, org_id, true)
  await trx.insertInto('tombstone').values({ node_id: id, org_id, changed }).execute()
  return true
}

async function deleteProposedRows(
  trx: Transaction<IndexSchema>,
  { id, org_id, version }: Pick<NodeRow, 'id' | 'org_id' | 'version'>,
): Promise<boolean> {
  const deleted = await trx
    .deleteFrom('proposed_node')
    .where('id', '=', id)
    .where('version', '=', version)
    .executeTakeFirst()
  if (deleted.numDeletedRows === 0n) return false
  await abandonLogs(trx, id)
  await forgetMoves(trx, org_id, id)
  return true
}

/**
 * Deletes the tombstones of these nodes. Gives the organisation a new epoch, so that search indexes that have not
 * processed the tombstones are rebuilt.
 */
export async function deleteTombstones(
  trx: Transaction<IndexSchema>,
  orgId: string,
  nodeIds: readonly string[],
): Promise<void> {
  const { numDeletedRows } = await trx
    .deleteFrom('tombstone')
    .where('org_id', '=', orgId)
    .where('node_id', 'in', nodeIds)
    .executeTakeFirst()
  if (numDeletedRows > 0n) await trx.updateTable('org').set({ epoch: randomUUID() }).where('id', '=', orgId).execute()
}

const branchChains = `
  select distinct chain from branch
  where node_id = ? and name in (select value from json_each(?)) and chain is not null`
const deleteBranches = 'delete from branch where node_id = ? and name in (select value from json_each(?))'
const upsertBranches = `
  insert into branch (org_id, node_id, name, head, chain, pos)
    select ?, ?, value ->> 0, value ->> 1, value ->> 2, value ->> 3 from json_each(?) where true
  on conflict (node_id, name) do update set head = excluded.head, chain = excluded.chain, pos = excluded.pos`

async function replaceBranches(
  trx: Transaction<IndexSchema>,
  { orgId, nodeId, branches, indexed }: NodeChange,
): Promise<void> {
  const moved = [...indexed.keys()].filter((ref) => branches.get(ref) !== indexed.get(ref))
  const gone = moved.filter((ref) => !branches.has(ref))
  const changed = [...branches].filter(([ref, head]) => indexed.get(ref) !== head)
  const left = moved.length > 0 ? await readRows<{ chain: number }>(trx, branchChains, nodeId, namesOf(moved)) : []
  if (gone.length > 0) await changeRows(trx, deleteBranches, nodeId, namesOf(gone))
  const places = new Map<string, Awaited<ReturnType<typeof logEndOf>>>()
  for (const [, head] of changed) if (!places.has(head)) places.set(head, await logEndOf(trx, nodeId, head))
  const rows = changed.map(([ref, head]) => [shortName(ref), head, places.get(head)?.chain, places.get(head)?.pos])
  if (rows.length > 0) await changeRows(trx, upsertBranches, orgId, nodeId, JSON.stringify(rows))
  for (const { chain } of left) await trimLog(trx, chain)
}

function namesOf(refs: readonly string[]): string {
  return JSON.stringify(refs.map(shortName))
}

/** Lists the changed pull requests that have no row. */
async function listUnknownPulls(trx: Transaction<IndexSchema>, { nodeId, pulls }: NodeChange): Promise<number[]> {
  const unknown = new Set(pulls.map(({ pull }) => pull.number))
  await inSlices([...unknown], async (numbers) => {
    const known = trx.selectFrom('pull').select('number').where('node_id', '=', nodeId).where('number', 'in', numbers)
    for (const { number } of await known.execute()) unknown.delete(number)
  })
  return [...unknown]
}

export async function deletePull(
  trx: Transaction<IndexSchema>,
  pull: Pick<PullTable, 'node_id' | 'number'>,
): Promise<void> {
  const { node_id, number } = pull
  await trx.deleteFrom('pull').where('node_id', '=', node_id).where('number', '=', number).execute()
  await replaceReviewers(trx, pull, [])
}

/** Writes the rows of one pull request. The rows of its entries stay. */
export async function replacePull(trx: Transaction<IndexSchema>, { pull, reviewers }: PullRows): Promise<void> {
  await upsertPull(trx, pull)
  await replaceReviewers(trx, pull, reviewers)
}

async function upsertPull(trx: Transaction<IndexSchema>, pull: Insertable<PullTable>): Promise<void> {
  const { node_id, number, ...rest } = pull
  await trx
    .insertInto('pull')
    .values({ node_id, number, ...rest })
    .onConflict((conflict) => conflict.columns(['node_id', 'number']).doUpdateSet(rest))
    .execute()
}

const upsertText = `
  insert into node_text (node_id, text) values (?, ?)
  on conflict (node_id) do update set text = excluded.text where text <> excluded.text`

/** Writes the rows of main's content. Returns true if the shape of the graph has changed. */
async function replaceMain(
  trx: Transaction<IndexSchema>,
  { row, orgId, nodeId, text = '', tags = [], edges }: NodeChange,
  { title_key, tags: json }: MainFields,
): Promise<boolean> {
  await changeRows(trx, upsertText, nodeId, text)
  // The row has the same tags as their own rows.
  const before = row?.tags === json ? tags : await replaceTags(trx, nodeId, tags)
  await replaceTagRows(trx, orgId, [
    { nodeId, ...(row && { before: { title_key: row.title_key, tags: before } }), after: { title_key, tags } },
  ])
  const isRenamed = row !== undefined && row.title_key !== title_key
  const edgesMoved = edges ? await replaceEdges(trx, { row, orgId, nodeId, edges }, title_key) : false
  if (isRenamed)
    await trx
      .updateTable('edge')
      .set({ title_key })
      .where('holder', '=', nodeId)
      .where('edge_type', '=', 'parent_child')
      .where('title_key', '<>', title_key)
      .execute()
  if (isRenamed || edgesMoved) await settleNodes(trx, [nodeId])
  if (row === undefined) await settleChildren(trx, orgId, [nodeId])
  return edgesMoved
}

/** Writes the node's edges. Returns true if they or the set of nodes have changed. */
async function replaceEdges(
  trx: Transaction<IndexSchema>,
  { row, orgId, nodeId, edges }: Pick<NodeChange, 'row' | 'orgId' | 'nodeId'> & Required<Pick<NodeChange, 'edges'>>,
  title_key: string,
): Promise<boolean> {
  const before = await trx.selectFrom('edge').selectAll().where('holder', '=', nodeId).execute()
  const known = new Map(before.map(({ org_id, holder, ...edge }) => [identity(edge), edge]))
  const wanted = new Map(edges.map((edge) => [identity(edge), edge]))
  const gone = [...known].flatMap(([key, edge]) => (wanted.has(key) ? [] : [edge]))
  const added = [...wanted].flatMap(([key, edge]) =>
    known.has(key) ? [] : [{ org_id: orgId, holder: nodeId, ...edge, ...placed(edge, title_key) }],
  )
  if (row && gone.length === 0 && added.length === 0) return false
  for (const type of new Set(gone.map(({ edge_type }) => edge_type))) {
    const keys = gone.filter(({ edge_type }) => edge_type === type).map(({ key }) => key)
    const ofType = trx.deleteFrom('edge').where('holder', '=', nodeId).where('edge_type', '=', type)
    await inSlices(keys, (some) => ofType.where('key', 'in', some).execute())
  }
  await inSlices(added, (rows) => trx.insertInto('edge').values(rows).execute())
  return true
}

/** Returns the column by which the edge places the node among its siblings. */
export function placed({ edge_type }: Pick<EdgeTable, 'edge_type'>, title_key: string): { readonly title_key: string } {
  return { title_key: edge_type === 'parent_child' ? title_key : '' }
}

/** Writes the node's tags, and returns those before. */
async function replaceTags(
  trx: Transaction<IndexSchema>,
  nodeId: string,
  tags: readonly string[],
): Promise<readonly string[]> {
  const before = await listTagsOf(trx, nodeId)
  const [known, wanted] = [new Set(before), new Set(tags)]
  const gone = [...known].filter((tag) => !wanted.has(tag))
  const added = [...wanted].filter((tag) => !known.has(tag))
  const ofNode = trx.deleteFrom('node_tag').where('node_id', '=', nodeId)
  await inSlices(gone, (some) => ofNode.where('tag', 'in', some).execute())
  await inSlices(
    added.map((tag) => ({ node_id: nodeId, tag })),
    (rows) => trx.insertInto('node_tag').values(rows).execute(),
  )
  return before
}

async function listTagsOf(trx: Transaction<IndexSchema>, nodeId: string): Promise<string[]> {
  const rows = await readRows<{ tag: string }>(trx, 'select tag from node_tag where node_id = ?', nodeId)
  return rows.map(({ tag }) => tag)
}

function identity(edge: Omit<EdgeTable, 'org_id' | 'holder'>): string {
  return JSON.stringify([edge.edge_type, edge.key, edge.source, edge.target, edge.connection_type, edge.label])
}

/** Adds `changes` to the organisation's version and returns the new one. */
export async function countUp(
  trx: Transaction<IndexSchema>,
  orgId: string,
  graphMoved: boolean,
  changes = 1,
): Promise<number> {
  const [org] = await readRows<{ version: number }>(trx, addVersions, changes, Number(graphMoved), orgId)
  if (!org) throw new Error('The organisation has no row')
  return org.version
}

const addVersions = `
  update org set version = version + ?, graph_version = graph_version + ? where id = ? returning version`

function shortName(ref: string): string {
  return ref.slice(branchRefs.length)
}
