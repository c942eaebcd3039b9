/**
 * The one way in: whatever moved a ref, the index follows here (law 4). Idempotent; safe beside itself in any number of
 * processes, since every change of a node's rows is a compare-and-swap of `node.version`.
 */
import type { Kysely, Selectable } from 'kysely'
import { readCommit } from '../../gitstore/commits.ts'
import { GitError, type GitErrorCode } from '../../gitstore/errors.ts'
import { listRefs, readRef } from '../../gitstore/refs.ts'
import type { Oid, Repo } from '../../gitstore/repo.ts'
import { repoExists } from '../../gitstore/repos.ts'
import { isDuplicate } from '../../index/database.ts'
import { readBranchesOf, readIndexedBranches } from '../../index/derived/branches.ts'
import { deleteNodeRows, Outrun, replaceNodeRows } from '../../index/derived/nodes.ts'
import { replaceOrgRows } from '../../index/derived/orgs.ts'
import type { IndexSchema, NodeTable } from '../../index/derived/schema.ts'
import type { Deps } from '../deps.ts'
import { Refusal } from '../errors.ts'
import { laterOf, timeOf } from './authors.ts'
import { type NodeContent, readContent, readText } from './entities.ts'
import { historyOf, logsToLay } from './history.ts'
import { changedPulls, type PullRecord, readNodeRecord } from './ledger.ts'
import { readOrgRecord } from './org-record.ts'
import { isId, ledgerRef, main, nodeRepo, orgRepo } from './places.ts'
import { fromRow, type PullRow, settlePulls, toRow } from './pulls/pull-ledger.ts'

/** Rounds of compare-and-swap before it is given up; each means that somebody else made progress. */
const rounds = 50

/** Brings the rows of a node up to its refs, and its ledger up to its branches (transactions.md, followRefs). */
export async function followNode(deps: Deps, orgId: string, nodeId: string): Promise<void> {
  const repo = nodeRepo(deps.store, orgId, nodeId)
  for (let round = 0; round < rounds; round++) {
    if (await followOnce(deps, orgId, nodeId, repo)) return
  }
  throw new GitError('busy', 'The node changes faster than it can be indexed; nothing is lost')
}

/** Follows, and leaves to the sweep what fails: the change itself is committed and answered (transactions.md). */
export async function followSoon(deps: Deps, orgId: string, nodeId: string): Promise<void> {
  await followNode(deps, orgId, nodeId).catch((error: unknown) => {
    deps.log.error({ err: error, orgId, nodeId }, 'the index is behind this node; the next read tries again')
  })
}

/**
 * Reads what a change has made, for its answer: the change stands, whatever fails here.
 *
 * @throws Refusal outcome_unknown, or what `read` refuses
 */
export async function readBack<T>({ log }: Pick<Deps, 'log'>, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof Refusal) throw error
    log.error({ err: error }, 'a change was made and could not be read back')
    throw new Refusal(
      'outcome_unknown',
      'The change is made, but could not be read back; read again before you repeat it',
    )
  }
}

/**
 * True when the rows are those of the refs read here. The rows are read first, then the ledger, the heads last: a request
 * that is known is then never older than the branches that it is judged by.
 */
async function followOnce(deps: Deps, orgId: string, nodeId: string, repo: Repo): Promise<boolean> {
  const row = await deps.index.read.selectFrom('node').selectAll().where('id', '=', nodeId).executeTakeFirst()
  if (row && row.org_id !== orgId) return true
  if (!repoExists(repo)) return row ? deps.index.write((trx) => deleteNodeRows(trx, row)) : true
  const indexed = await readIndexedBranches(deps.index.read, nodeId)
  const known = await openPulls(deps.index.read, nodeId)
  const ledger = readRef(repo, ledgerRef)
  if (!ledger) throw new GitError('ref_damaged', `${ledgerRef} is missing`, { ref: ledgerRef })
  const branches = listRefs(repo, 'refs/heads/')
  if (row?.ledger === ledger && sameBranches(indexed, branches)) return true
  const { records, gone } =
    row?.ledger === ledger
      ? { records: [], gone: [] }
      : await changedPulls(repo, row?.ledger ?? null, ledger, await pullNumbers(deps.index.read, nodeId))
  const moved = [...branches].filter(([ref, oid]) => indexed.get(ref) !== oid)
  const heads = moved.sort(([a], [b]) => Number(b === main) - Number(a === main)).map(([, oid]) => oid)
  const logs = await logsToLay(deps, nodeId, repo, [...new Set(heads)])
  if (!logs) return false
  const place = { nodeId, repo, version: row?.version, history: historyOf(deps, nodeId, repo) }
  if (await settlePulls(deps, place, stillOpen(known, records, gone), indexed, branches)) return false
  const fields = await nodeFields(repo, row, ledger, branches.get(main) ?? null)
  const change = {
    row,
    orgId,
    nodeId,
    ledger,
    branches,
    indexed,
    logs,
    pulls: records.map((record) => toRow(nodeId, record)),
    pullsGone: gone,
    ...fields,
  }
  try {
    return await deps.index.write((trx) => replaceNodeRows(trx, change))
  } catch (error) {
    if (isDuplicate(error) || error instanceof Outrun) return false
    if (await orgIsBehind(deps, orgId)) return false
    throw error
  }
}

/** A node's first row needs its organisation's. */
async function orgIsBehind(deps: Deps, orgId: string): Promise<boolean> {
  const org = await deps.index.read.selectFrom('org').select('id').where('id', '=', orgId).executeTakeFirst()
  if (org || !repoExists(orgRepo(deps.store, orgId))) return false
  await followOrg(deps, orgId)
  return true
}

/**
 * Those of `nodes` whose refs are not what the index has, or cannot be read; a node of neither place is no difference.
 * Two queries for all of them, 50 µs each for reading their refs.
 */
export async function listMoved(deps: Deps, orgId: string, nodes: readonly string[]): Promise<string[]> {
  const db = deps.index.read
  const rows = await db.selectFrom('node').select(['id', 'org_id', 'ledger']).where('id', 'in', nodes).execute()
  const rowOf = new Map(rows.map((row) => [row.id, row]))
  const branchesOf = await readBranchesOf(db, nodes)
  return nodes.filter((id) => {
    const row = rowOf.get(id)
    const repo = nodeRepo(deps.store, orgId, id)
    if (row && row.org_id !== orgId) return false
    if (!row || !repoExists(repo)) return row !== undefined || repoExists(repo)
    try {
      if (readRef(repo, ledgerRef) !== row.ledger) return true
      return !sameBranches(branchesOf.get(id) ?? new Map(), listRefs(repo, 'refs/heads/'))
    } catch {
      return true // whoever follows it learns why
    }
  })
}

export function sameBranches(indexed: ReadonlyMap<string, Oid>, now: ReadonlyMap<string, Oid>): boolean {
  if (indexed.size !== now.size) return false
  for (const [ref, oid] of now) if (indexed.get(ref) !== oid) return false
  return true
}

async function openPulls(db: Kysely<IndexSchema>, nodeId: string): Promise<PullRecord[]> {
  const rows: PullRow[] = await db
    .selectFrom('pull')
    .selectAll()
    .where('node_id', '=', nodeId)
    .where('status', '=', 'open')
    .execute()
  return rows.map(fromRow)
}

async function pullNumbers(db: Kysely<IndexSchema>, nodeId: string): Promise<number[]> {
  const rows = await db.selectFrom('pull').select('number').where('node_id', '=', nodeId).execute()
  return rows.map(({ number }) => number)
}

/** Every request that is open after `records`, as the ledger has it. */
function stillOpen(
  known: readonly PullRecord[],
  records: readonly PullRecord[],
  gone: readonly number[],
): PullRecord[] {
  const byNumber = new Map(known.map((record) => [record.number, record]))
  for (const number of gone) byNumber.delete(number)
  for (const record of records) byNumber.set(record.number, record)
  return [...byNumber.values()].filter((record) => record.status === 'open').sort((a, b) => a.number - b.number)
}

async function nodeFields(repo: Repo, row: Selectable<NodeTable> | undefined, ledger: Oid, head: Oid | null) {
  if (row && row.head === head) return { node: undefined }
  const record = await readNodeRecord(repo, ledger)
  const commit = head === null ? null : await readCommit(repo, head)
  const content = await readContent(repo, commit?.tree ?? null)
  const text = await readText(repo, content)
  return {
    node: {
      title: content.title ?? record.title,
      description: describe(content, text),
      tags: JSON.stringify(content.tags),
      properties: JSON.stringify(content.properties),
      created_at: record.created_at,
      updated_at: commit ? laterOf(timeOf(commit.committer), record.created_at) : record.created_at,
      head,
    },
    text,
    tags: content.tags,
    edges: edgesOf(record.id, content),
  }
}

/** The property `description`, else the beginning of the text. */
function describe({ properties: { description } }: NodeContent, text: string): string {
  if (typeof description === 'string') return description
  return text.slice(0, 400).replace(/\s+/g, ' ').trim().slice(0, 200)
}

function edgesOf(nodeId: string, content: NodeContent) {
  const parents = content.parents
    .filter((parent) => parent.id !== nodeId)
    .map(({ id, label }) => ({
      edge_type: 'parent_child' as const,
      key: id,
      source: id,
      target: nodeId,
      connection_type: '',
      label,
    }))
  const connections = content.connections
    .filter((connection) => connection.target !== nodeId)
    .map(({ id, target, type, label }) => ({
      edge_type: 'connection' as const,
      key: id,
      source: nodeId,
      target,
      connection_type: type,
      label,
    }))
  return [...parents, ...connections]
}

/** Brings the rows of an organisation and its members up to org.git. */
export async function followOrg(deps: Deps, orgId: string): Promise<void> {
  if (!isId(orgId)) return
  const repo = orgRepo(deps.store, orgId)
  for (let round = 0; round < rounds; round++) {
    const row = await deps.index.read.selectFrom('org').select('head').where('id', '=', orgId).executeTakeFirst()
    const head = repoExists(repo) ? readRef(repo, main) : null
    if (head === null && repoExists(repo)) throw new GitError('ref_damaged', `${main} is missing`, { ref: main })
    if ((row?.head ?? null) === head) return
    if (head === null) {
      await deps.index.write(async (trx) => void (await trx.deleteFrom('org').where('id', '=', orgId).execute()))
      return
    }
    const { org, members } = await readOrgRecord(repo, head)
    await deps.index.write((trx) => replaceOrgRows(trx, row?.head ?? null, { ...org, head }, members))
  }
}

/** The note of a ref transaction that holds the graph: which node to follow should its process die. */
export function noteOf(orgId: string, nodeId: string): string {
  return `${orgId}/${nodeId}`
}

/** Follows the node that a broken transaction's note names. One that is damaged keeps nobody waiting but its own readers. */
export async function followNote(deps: Deps, note: string): Promise<void> {
  const [orgId = '', nodeId = ''] = note.split('/')
  if (!isId(orgId) || !isId(nodeId)) return
  await followNode(deps, orgId, nodeId).catch((error: unknown) => {
    if (!isDamage(error)) throw error
    deps.log.error({ err: error, orgId, nodeId }, 'a node that a dead process was changing cannot be read')
  })
}

const damage: ReadonlySet<GitErrorCode> = new Set(['ref_damaged', 'object_missing', 'object_damaged'])

/** Whether a repository does not hold what its refs promise. */
export function isDamage(error: unknown): error is GitError {
  return error instanceof GitError && damage.has(error.code)
}
