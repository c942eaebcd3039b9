/**
 * Freshness: the index matches the repositories that a request names. The doors settle this before a use case reads
 * rows. A crash, another process or a Git client may have left the index behind.
 */

import { isGitError, isStorageError } from '../../../gitstore/errors.ts'
import { listRefsWith, readRef } from '../../../gitstore/refs/refs.ts'
import type { Repo } from '../../../gitstore/repo.ts'
import { repoExists } from '../../../gitstore/repo-folders.ts'
import { findNode, isProposed, type NodeRow } from '../../../index/derived/node-queries.ts'
import { findOrgRow, type OrgRow } from '../../../index/derived/org-queries.ts'
import { findProposedNode } from '../../../index/derived/proposed-nodes.ts'
import { wholeOrg } from '../../../index/derived/sees.ts'
import { isDatabaseStorageError } from '../../../index/sqlite/database.ts'
import { AppError } from '../../base/errors.ts'
import {
  authorizeNode,
  authorizeOrg,
  findSeenOrg,
  isOpenTo,
  isShownTo,
  type LedgerAccess,
  type Need,
  type NodeAccess,
  type OrgAccess,
  requireKnown,
  toNodeAccess,
} from '../access.ts'
import type { Actor } from '../actor.ts'
import { isClosed } from '../format/org-format.ts'
import { branchRefs, isId, ledgerRef, main, nodeRepo, orgRepo } from '../layout.ts'
import type { Ctx, Services } from '../services.ts'
import type { SeenOrg, Settled, SettledNode } from '../settled.ts'
import type { NodeAt, OrgAt } from '../targets.ts'
import { indexNode, indexOrg } from './index-node.ts'
import { indexedBranches, matchesIndexed } from './indexed-branches.ts'

/** The ids in the path of an operation. */
interface Named {
  readonly org_id?: string | undefined
  readonly node_id?: string | undefined
  /** True if the operation finds the node also if it is only proposed. */
  readonly seesProposed?: boolean
}

/** Settles what the operations of one request name. */
export interface Settling {
  /**
   * Indexes the organisation and the node if their repositories have changed. Skips a node that the caller cannot see.
   * An error is thrown by the authorisation that takes the row, because an operation may need none.
   */
  settle(deps: Services, actor: Actor, named: Named): Promise<Settled>
  /** Call this before and after an operation that changes something. */
  forget(): void
}

/** Operations of a request that only read share what was settled, until one changes something. */
export function createSettling(): Settling {
  const known = new Map<string, Promise<unknown>>()
  return {
    forget: () => known.clear(),
    settle: async (deps, actor, named) => {
      const { org_id: orgId, node_id: nodeId } = named
      if (orgId === undefined) return settledBy(actor, named, nothing, nothing)
      const who = actor.kind === 'person' ? actor.id : ''
      const org = await outcomeOf(once(known, `org ${orgId} ${who}`, () => settleOrg({ ...deps, actor }, orgId)))
      const seen = 'error' in org ? undefined : org.value
      const isSeen = seen !== undefined && isShownTo(seen) && !isClosed(seen.org)
      if (!isSeen || nodeId === undefined) return settledBy(actor, named, org, nothing)
      const node = await outcomeOf(once(known, `node ${orgId} ${nodeId}`, () => settleNode(deps, seen.org, nodeId)))
      return settledBy(actor, named, org, node)
    },
  }
}

type Outcome<T> = { readonly value: T | undefined } | { readonly error: unknown }

const nothing = { value: undefined }

const outcomeOf = <T>(work: Promise<T>): Promise<Outcome<T>> =>
  work.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )

/** Returns the result for this key, from the call that made it. */
function once<T>(known: Map<string, Promise<unknown>>, key: string, make: () => Promise<T>): Promise<T> {
  const one = (known.get(key) as Promise<T> | undefined) ?? make() // a key has one type
  known.set(key, one)
  return one
}

function settledBy(caller: Actor, named: Named, org: Outcome<SeenOrg>, node: Outcome<SettledNode>): Settled {
  let [seen, settled] = [org, node]
  return {
    takeOrg: (actor, orgId) => {
      if (actor !== caller || orgId !== named.org_id) return undefined
      const taken = resultOf(seen)
      seen = nothing
      return taken
    },
    takeNode: (nodeId) => {
      if (nodeId !== named.node_id) return undefined
      const taken = resultOf(settled)
      settled = nothing
      return taken
    },
    seesProposed: (nodeId) => named.seesProposed === true && nodeId === named.node_id,
  }
}

function resultOf<T>(outcome: Outcome<T>): T | undefined {
  if ('error' in outcome) throw outcome.error
  return outcome.value
}

/**
 * Returns the access to a node that no path names, after settling it.
 *
 * @param seesProposed true if members also get a node that is only proposed
 * @throws errors of `authorizeNode`
 */
export async function authorizeFresh(ctx: Ctx, at: NodeAt, need: Need, seesProposed = false): Promise<NodeAccess> {
  const settled = await createSettling().settle(ctx, ctx.actor, { ...at, seesProposed })
  return authorizeNode({ ...ctx, settled, actor: ctx.actor }, at, need)
}

/** Returns the access to an organisation that no path names. @throws errors of `authorizeOrg` */
export async function authorizeFreshOrg(ctx: Ctx, at: OrgAt, need: Need): Promise<OrgAccess> {
  const settled = await createSettling().settle(ctx, ctx.actor, { org_id: at.org_id })
  return authorizeOrg({ ...ctx, settled, actor: ctx.actor }, at, need)
}

/**
 * Returns a node of an organisation to which the access is known. It may be new, or have changed.
 *
 * @throws errors of `authorizeNode`, except those about the organisation
 */
export async function authorizeNodeInOrg(
  deps: Services,
  access: OrgAccess,
  nodeId: string,
  need: Need,
  seesProposed = false,
): Promise<NodeAccess> {
  return toNodeAccess(deps, access, await settleNode(deps, access.org, nodeId), need, seesProposed)
}

/** Returns the access with the node's current row. The index is up to date. @throws errors of `authorizeNodeInOrg` */
export async function reloadNode(deps: Services, access: LedgerAccess, need: Need): Promise<NodeAccess> {
  const { org, node } = access
  return toNodeAccess(deps, access, await settleNode(deps, org, node.id), need, isProposed(node))
}

/** Returns the organisation and the caller's role. A crash may have left it out of the index. */
async function settleOrg(ctx: Ctx, orgId: string): Promise<SeenOrg | undefined> {
  const seen = await findSeenOrg(ctx, ctx.actor, orgId)
  return seen ?? ((await addLeftOut(ctx, orgId)) ? findSeenOrg(ctx, ctx.actor, orgId) : undefined)
}

/** Indexes an organisation without a row. False if it does not exist. */
async function addLeftOut(deps: Services, orgId: string): Promise<boolean> {
  if (!isId(orgId) || !repoExists(orgRepo(deps.store, orgId))) return false
  await indexOrg(deps, orgId)
  return true
}

/**
 * Returns the organisation's row. If a crash left it out of the index, its repository is indexed first.
 *
 * @throws AppError org_needs_newer_version
 */
export async function findOrg(deps: Services, orgId: string): Promise<OrgRow | undefined> {
  const row = await findAnyOrg(deps, orgId)
  return row && requireKnown(row)
}

/** Returns the organisation, for anonymous callers. A closed one that is not published is undefined. @throws AppError */
export async function findVisibleOrg(deps: Services, orgId: string): Promise<OrgRow | undefined> {
  const row = await findAnyOrg(deps, orgId)
  return row && (await isOpenTo(deps, row, undefined)) ? row : undefined
}

/** Returns the row also if the organisation is closed. */
export async function findAnyOrg(deps: Services, orgId: string): Promise<OrgRow | undefined> {
  if (!isId(orgId)) return undefined
  const row = await findOrgRow(deps.index.read, orgId)
  return row ?? ((await addLeftOut(deps, orgId)) ? findOrgRow(deps.index.read, orgId) : undefined)
}

/** Returns the node's row after indexing it. @throws errors of indexing, except those of storage if there is a row */
async function settleNode(deps: Services, org: OrgRow, nodeId: string): Promise<SettledNode> {
  const orgId = org.id
  if (!isId(nodeId)) return { row: undefined }
  const repo = nodeRepo(deps.store, orgId, nodeId)
  const row = await findAnyNode(deps, orgId, nodeId)
  if (row ? await isIndexed(deps, repo, { ...row, epoch: org.epoch }) : !repoExists(repo)) return { row }
  try {
    await indexNode(deps, orgId, nodeId)
  } catch (error) {
    const isPassing = isStorageError(error) || isDatabaseStorageError(error) || isReadOnly(error)
    if (row === undefined || !isPassing) throw error
    deps.log.warn({ err: error, orgId, nodeId }, 'a node cannot be indexed; reads get its last indexed state')
    return { row, failure: error }
  }
  return { row: await findAnyNode(deps, orgId, nodeId) }
}

/** Returns the row of a node, or of a proposed one whose repository exists. */
async function findAnyNode({ index, store }: Services, orgId: string, nodeId: string): Promise<NodeRow | undefined> {
  const row = await findNode(index.read, wholeOrg(orgId), nodeId)
  return row ?? (repoExists(nodeRepo(store, orgId, nodeId)) ? findProposedNode(index.read, orgId, nodeId) : undefined)
}

/** True if pull requests cannot be settled now. The cell has no lease, or the service is in maintenance. */
function isReadOnly(error: unknown): boolean {
  return error instanceof AppError && (error.code === 'storage_readonly' || error.code === 'maintenance')
}

/**
 * True if the refs are the indexed ones. Reads the ledger and main. For the other branches, it only checks whether
 * anything moved since the last comparison.
 */
async function isIndexed(deps: Services, repo: Repo, row: NodeRow & { readonly epoch: string }): Promise<boolean> {
  try {
    const ledger = readRef(repo, ledgerRef)
    if (ledger !== row.ledger || ledger !== row.entries_ledger) return false
    const indexed = await indexedBranches(deps.index.read, row)
    const branches = listRefsWith(repo, branchRefs, main)
    // The row of a proposed node has no `main`, even if the branch exists.
    return ((branches.get(main) ?? null) === row.head || isProposed(row)) && matchesIndexed(row, indexed, branches)
  } catch (error) {
    if (isGitError(error, 'repo_missing')) return false
    throw error
  }
}
