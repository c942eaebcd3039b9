/**
 * Makes the rows of an organisation's change sets those of their ledger. Idempotent, in any number of processes. The
 * nodes of a set that has merged are indexed with it, in one transaction: no reader sees a part.
 */
import pLimit from 'p-limit'
import { GitError, isDamage } from '../../../gitstore/errors.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { repoExists } from '../../../gitstore/repo-folders.ts'
import {
  findSetById,
  findSetsCommit,
  replaceSet,
  replaceSetRows,
  type SetRows,
} from '../../../index/derived/change-sets.ts'
import { StaleWriteError } from '../../../index/derived/nodes.ts'
import { listPullNumbers } from '../../../index/derived/pulls.ts'
import { replaceEntries } from '../../../index/derived/reviews.ts'
import { isDuplicate } from '../../../index/sqlite/database.ts'
import { recordNodes } from '../event-log/record.ts'
import { historiesOf } from '../history.ts'
import { changedPulls, diffLedgers } from '../ledger/ledger.ts'
import { toPullRows } from '../ledger/pull-ledger.ts'
import { asPull, type SetRecord, setsOf } from '../ledger/set-ledger.ts'
import type { Services } from '../services.ts'
import { entryParts, logDamagedEntries } from './entry-rows.ts'
import {
  keepWritten,
  markPrepared,
  type PreparedNode,
  prepareNode,
  type Written,
  writePrepared,
} from './prepared-node.ts'

/** The most rounds of compare-and-swap. Each lost round means that another process made progress. */
const rounds = 50

/** Indexes the change sets of an organisation that has a row. False if nothing has moved, which takes one ref. */
export async function indexSets(deps: Services, orgId: string): Promise<boolean> {
  const { repo, ref } = setsOf(deps, orgId)
  for (let round = 0; round < rounds; round++) {
    const before = await findSetsCommit(deps.index.read, orgId)
    const sets = repoExists(repo) ? readRef(repo, ref) : null
    if (before === undefined || before === sets) return round > 0
    if (await indexOnce(deps, orgId, repo, before, sets)) return true
  }
  throw new GitError('busy', 'Change sets move faster than they can be indexed; nothing is lost')
}

/** Compares the rows with the ledger once. Returns false if another process has written some. */
async function indexOnce(
  deps: Services,
  orgId: string,
  repo: Repo,
  before: Oid | null,
  sets: Oid | null,
): Promise<boolean> {
  const known = await listPullNumbers(deps.index.read, orgId)
  if (sets === null)
    return deps.index.write((trx) => replaceSetRows(trx, { orgId, before, sets, put: [], gone: known }))
  const diff = await diffLedgers(repo, before, sets)
  const { records, gone } = await changedPulls<SetRecord>(repo, diff, known)
  try {
    // Rows of entries without those of their set are not read.
    for await (const change of entryParts(repo, orgId, diff)) {
      await deps.index.write((trx) => replaceEntries(trx, { orgId, nodeId: orgId }, change))
      logDamagedEntries(deps, { orgId, nodeId: orgId }, change)
    }
    // Without rows, the index is being rebuilt, and shows a part of everything.
    if (before !== null)
      for (const record of records) if (await hasJustMerged(deps, orgId, record)) await indexMerged(deps, orgId, record)
    const put = records.map((record) => toSetRows(orgId, record))
    return await deps.index.write((trx) => replaceSetRows(trx, { orgId, before, sets, put, gone }))
  } catch (error) {
    if (isDuplicate(error)) return false
    throw error
  }
}

async function hasJustMerged({ index }: Services, orgId: string, { id, status }: SetRecord): Promise<boolean> {
  return status === 'merged' && (await findSetById(index.read, orgId, id))?.status !== 'merged'
}

/** Nodes that are compared with their refs side by side. */
const comparedAtOnce = 4

/**
 * Writes the rows of a merged set and of all its nodes in one transaction. Then records their events. A node whose
 * repository is damaged is left out.
 */
async function indexMerged(deps: Services, orgId: string, record: SetRecord): Promise<void> {
  const turn = pLimit(comparedAtOnce)
  const ids = record.items.flatMap(({ node_id, head }) => (head === undefined ? [] : node_id))
  for (let round = 0; round < rounds; round++) {
    const found = await Promise.all(ids.map((id) => turn(() => prepareSound(deps, orgId, id))))
    const nodes = found.flatMap((one) => one ?? [])
    if (nodes.some(({ outcome }) => outcome === 'again')) continue
    if (!(await writeTogether(deps, orgId, record, nodes))) continue
    const recorded = nodes.map(({ nodeId }) => nodeId)
    await recordNodes(deps, orgId, recorded, historiesOf(deps), true).catch((error: unknown) => {
      deps.log.error({ err: error, orgId }, 'events of a change set could not be recorded; the sweep retries')
    })
    for (const node of nodes) if (!node.isPart) markPrepared(node)
    return
  }
  throw new GitError('busy', 'The pages of a change set move faster than they can be indexed; nothing is lost')
}

/** Undefined if the repository is damaged, which is logged. */
async function prepareSound(deps: Services, orgId: string, nodeId: string): Promise<PreparedNode | undefined> {
  try {
    return await prepareNode(deps, orgId, nodeId)
  } catch (error) {
    if (!isDamage(error)) throw error
    deps.log.error({ err: error, orgId, nodeId }, 'a page of a change set cannot be read; the others are indexed')
    return undefined
  }
}

/** False if another writer was faster with one of them. */
async function writeTogether(
  deps: Services,
  orgId: string,
  record: SetRecord,
  nodes: readonly PreparedNode[],
): Promise<boolean> {
  const written = new Map<PreparedNode, Written>()
  try {
    await deps.index.write(async (trx) => {
      written.clear()
      for (const node of nodes) {
        const outcome = await writePrepared(trx, node)
        if (outcome === false) throw new StaleWriteError()
        written.set(node, outcome)
      }
      await replaceSet(trx, orgId, toSetRows(orgId, record))
    })
  } catch (error) {
    if (isDuplicate(error) || error instanceof StaleWriteError) return false
    throw error
  }
  for (const [node, outcome] of written) keepWritten(deps, node, outcome)
  return true
}

/** Returns the rows of a change set. */
function toSetRows(orgId: string, record: SetRecord): SetRows {
  return {
    ...toPullRows({ org_id: orgId, node_id: orgId }, asPull(record)),
    items: record.items.map(({ node_id, number, act }) => ({
      org_id: orgId,
      number: record.number,
      node_id,
      pull: number,
      act,
    })),
  }
}
