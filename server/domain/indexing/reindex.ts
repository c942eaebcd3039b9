/** Rebuilds the index from the repositories. */

import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { deleteAllLogs } from '../../../index/derived/chain-removal.ts'
import { deleteAllOrgs, findOrgHead } from '../../../index/derived/org-queries.ts'
import { forgetWholeOrgs } from '../../../index/derived/whole-orgs.ts'
import { declareFilled } from '../../../index/sqlite/rebuildable-database.ts'
import type { PathProblem } from '../format/path-problem.ts'
import type { Services } from '../services.ts'
import { countTrash } from './byte-counts.ts'
import { indexNode, indexOrg } from './index-node.ts'
import { listMoved } from './moved-nodes.ts'
import type { Queue } from './partial-index.ts'
import { readInThreads } from './read-thread.ts'
import { listNodes, listOrgs } from './stored-repositories.ts'
import { isUntouched, type ReadUnknown, readUnknown, type UnknownNode, writeUnknown } from './unknown-nodes.ts'

export interface Reindexed {
  readonly orgs: number
  readonly nodes: number
  /** Unreadable repositories. All others are served. */
  readonly failed: readonly UnreadableRepository[]
}

/** An unreadable repository. `path` is below the data folder: `<org id>/<node id>.git`, or `<org id>`. */
export interface UnreadableRepository extends PathProblem {
  readonly error: unknown
}

/** Updates the rows of a node, or of an organisation, to match its repository. */
export type IndexOne = (deps: Services, orgId: string, nodeId?: string) => Promise<void>

export const indexOne: IndexOne = (deps, orgId, nodeId) =>
  nodeId === undefined ? indexOrg(deps, orgId) : indexNode(deps, orgId, nodeId)

/** Nodes that are compared with the index at a time. */
const batch = 100
/** Nodes from which threads read ahead. Starting them takes 0.2 s. */
const manyNodes = 1_000

/** Clears the index and indexes every repository. */
export async function reindex(deps: Services, onProgress?: (done: number, total: number) => void): Promise<Reindexed> {
  await deps.index.write(async (trx) => {
    await declareFilled(trx, false)
    await deleteAllOrgs(trx)
    await deleteAllLogs(trx)
    await forgetWholeOrgs(trx)
  })
  const done = await indexAll(deps, onProgress)
  if (!deps.draining.aborted) await deps.index.write((trx) => declareFilled(trx, true))
  return done
}

/**
 * Indexes every repository that has moved, and deletes the rows of deleted ones. An unmoved repository costs about 0.1
 * ms. The event loop is blocked for at most about 10 ms. Organisations are indexed in the order of their ids, or in
 * that of `queue`.
 */
export async function indexAll(
  deps: Services,
  onProgress: (done: number, total: number) => unknown = () => {},
  queue?: Queue,
): Promise<Reindexed> {
  const failed: UnreadableRepository[] = []
  const orgs = await listOrgs(deps)
  /** Nodes of which no batch has begun, by organisation. */
  const left = new Map<string, string[]>()
  for (const org of orgs) left.set(org, await listNodes(deps, org))
  const total = [...left.values()].reduce((sum, nodes) => sum + nodes.length, 0)
  const read: ReadUnknown = total < manyNodes ? (orgId, nodes) => readUnknown(deps, orgId, nodes) : readInThreads(deps)
  const batches = new Batches(deps, { left, failed, read, queue })
  let done = 0
  await onProgress(done, total)
  for (let next = await batches.begin(); next !== undefined && !deps.draining.aborted; ) {
    const { orgId, nodes, isEntered, isLast, moved, reading } = next
    // It is read while this one is written.
    const ahead = await batches.begin()
    const written = await writeUnknown(deps, orgId, await reading)
    const others = moved.filter((id) => !written.has(id))
    await indexEach(deps, orgId, others, failed)
    done += nodes.length
    await onProgress(done, total)
    if (isLast && !deps.draining.aborted) {
      if (isEntered) await countTrash(deps, orgId)
      await queue?.done(orgId)
    }
    await nextTurn()
    next = await batches.orRequested(ahead)
  }
  return { orgs: orgs.length, nodes: total, failed }
}

/** Some nodes of an organisation. Reading of the unknown ones has begun. */
interface Batch {
  readonly orgId: string
  readonly nodes: readonly string[]
  /** False if the organisation has no row. Then none of its nodes is indexed. */
  readonly isEntered: boolean
  readonly isLast: boolean
  /** Nodes that differ from the index. */
  readonly moved: readonly string[]
  /** Never rejects. */
  readonly reading: Promise<readonly UnknownNode[]>
}

interface Batching {
  /** Nodes of which no batch has begun, by organisation. */
  readonly left: Map<string, string[]>
  readonly failed: UnreadableRepository[]
  readonly read: ReadUnknown
  readonly queue: Queue | undefined
}

/** Divides the nodes into batches, those of requested organisations first. */
class Batches {
  readonly #deps: Services
  readonly #work: Batching
  /** The organisations whose own repository was indexed, and whether they have a row. */
  readonly #entered = new Map<string, boolean>()

  constructor(deps: Services, work: Batching) {
    this.#deps = deps
    this.#work = work
  }

  /** Begins to read the next batch. Indexes an organisation before its first one. Undefined after the last one. */
  async begin(): Promise<Batch | undefined> {
    const { left, failed, read } = this.#work
    const orgId = (await this.#requested()) ?? left.keys().next().value
    if (orgId === undefined || this.#deps.draining.aborted) return undefined
    const all = left.get(orgId) ?? (await listNodes(this.#deps, orgId))
    const isEntered = this.#entered.get(orgId) ?? (await indexMovedOrg(this.#deps, orgId, failed))
    this.#entered.set(orgId, isEntered)
    const nodes = all.splice(0, isEntered ? batch : all.length)
    if (all.length === 0) left.delete(orgId)
    else left.set(orgId, all)
    const moved = isEntered ? await listMoved(this.#deps, orgId, nodes) : []
    const untouched = moved.filter((id) => isUntouched(this.#deps, orgId, id))
    const reading = untouched.length > 0 ? read(orgId, untouched) : Promise.resolve([])
    return { orgId, nodes, isEntered, isLast: all.length === 0, moved, reading }
  }

  /** Returns the batch, unless another organisation was requested after it was begun. */
  async orRequested(begun: Batch | undefined): Promise<Batch | undefined> {
    const orgId = await this.#requested()
    if (begun === undefined || orgId === undefined || orgId === begun.orgId) return begun ?? this.begin()
    const { left } = this.#work
    left.set(begun.orgId, [...begun.nodes, ...(left.get(begun.orgId) ?? [])])
    return this.begin()
  }

  /** A requested organisation of which nodes are left. One that was created after the list was never entered. */
  async #requested(): Promise<string | undefined> {
    const orgId = await this.#work.queue?.first()
    return orgId !== undefined && (this.#work.left.has(orgId) || !this.#entered.has(orgId)) ? orgId : undefined
  }
}

/** Indexes the organisation's own repository. True if its nodes can be indexed. Failures are added to `failed`. */
export async function indexMovedOrg(
  deps: Services,
  orgId: string,
  failed: UnreadableRepository[],
  one: IndexOne = indexOne,
): Promise<boolean> {
  return (await attempt(orgId, failed, () => one(deps, orgId))) && (await hasOrgRow(deps, orgId))
}

/** Indexes the nodes that have moved. Failures are added to `failed`. */
export async function indexMoved(
  deps: Services,
  orgId: string,
  nodes: readonly string[],
  failed: UnreadableRepository[],
  one: IndexOne = indexOne,
): Promise<void> {
  await indexEach(deps, orgId, await listMoved(deps, orgId, nodes), failed, one)
}

async function indexEach(
  deps: Services,
  orgId: string,
  nodes: readonly string[],
  failed: UnreadableRepository[],
  one: IndexOne = indexOne,
): Promise<void> {
  for (const node of nodes) {
    if (deps.draining.aborted) break
    await attempt(join(orgId, `${node}.git`), failed, () => one(deps, orgId, node))
  }
}

async function attempt(path: string, failed: UnreadableRepository[], work: () => Promise<void>): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    failed.push({ path, reason: error instanceof Error ? error.message : String(error), error })
    return false
  }
}

/** True if the organisation has a row. Without it, its nodes cannot be indexed. */
async function hasOrgRow(deps: Services, orgId: string): Promise<boolean> {
  return (await findOrgHead(deps.index.read, orgId)) !== undefined
}
