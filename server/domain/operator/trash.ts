/** Restores and purges deleted repositories. */
import { mkdir, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { isGitError } from '../../../gitstore/errors.ts'
import { listNames } from '../../../gitstore/fs-exists.ts'
import { withRepoIntent } from '../../../gitstore/refs/ref-transaction.ts'
import { moveRepo, repoExists } from '../../../gitstore/repo-folders.ts'
import { isUnfinished, unfinishedName } from '../../../gitstore/temporary-names.ts'
import { hasPersonalOrg } from '../../../index/credentials/accounts.ts'
import { deleteLimit } from '../../../index/credentials/limits.ts'
import { deleteTombstones } from '../../../index/derived/nodes.ts'
import { deleteGoneRepos } from '../../../index/log/gone-logs.ts'
import { AppError, ValidationError } from '../../base/errors.ts'
import { deleteBotsOf } from '../accounts/bot-accounts.ts'
import { operator } from '../actor.ts'
import { audit } from '../audit/audit.ts'
import { eraseNodeVectors, eraseOrgVectors } from '../embeddings/erasure.ts'
import { recordNodes } from '../event-log/record.ts'
import { historiesOf } from '../history.ts'
import { countTrash } from '../indexing/byte-counts.ts'
import { isId, isTime, nodeRepo, orgRepo, parseTrashedNode, trashFolder } from '../layout.ts'
import { findCopy, putBack } from '../nodes/trash.ts'
import type { Services } from '../services.ts'
import type { NodeAt } from '../targets.ts'

/**
 * The reason why a node is not restored.
 *
 * `mistake`: the node exists, or has no copy or no organisation. `conflict`: another node has its id, or it has to
 * wait for a parent.
 */
export interface NotRestored {
  readonly kind: 'mistake' | 'conflict'
  readonly reason: string
}

/** Restores the node's newest copy in the trash. Undefined: it is restored. */
export async function restoreNode(
  deps: Services,
  { org_id: orgId, node_id: nodeId }: NodeAt,
): Promise<NotRestored | undefined> {
  const at = { org_id: orgId, node_id: nodeId }
  if (repoExists(nodeRepo(deps.store, orgId, nodeId))) return { kind: 'mistake', reason: 'the node exists' }
  if (!repoExists(orgRepo(deps.store, orgId))) return { kind: 'mistake', reason: 'its organisation does not exist' }
  const newest = await findCopy(deps.store, at)
  if (!newest) return { kind: 'mistake', reason: 'it is not in the trash' }
  const holder = await findHolder(deps, nodeId)
  if (holder !== undefined) return heldBy(holder)
  try {
    await putBack(deps, at, newest, operator)
    await audit(deps, { action: 'node.restored', actor: operator, orgId, nodeId })
    return undefined
  } catch (error) {
    if (error instanceof AppError && error.code === 'node_exists')
      return heldBy((await findHolder(deps, nodeId)) ?? 'another organisation')
    if (error instanceof AppError && error.code === 'rule_would_end') return { kind: 'conflict', reason: error.message }
    const [problem] = error instanceof ValidationError ? error.problems : []
    if (problem !== undefined) return { kind: 'conflict', reason: problem.msg }
    throw error
  }
}

function heldBy(orgId: string): NotRestored {
  return { kind: 'conflict', reason: `${orgId} has a node with this id, and an id can only be served once` }
}

/** Finds the organisation that has a node with that id. Checks repositories, because the index may be out of date. */
async function findHolder({ store }: Pick<Services, 'store'>, nodeId: string): Promise<string | undefined> {
  const orgs = (await listNames(store.root)).filter(isId)
  return orgs.find((orgId) => repoExists(nodeRepo(store, orgId, nodeId)))
}

/** Rows deleted in one transaction. Other writers wait for it. */
const tombstonesAtOnce = 500

export interface Trashed {
  readonly orgId: string
  /** Undefined: the organisation with all its nodes. */
  readonly nodeId: string | undefined
  /** ISO 8601 in UTC. */
  readonly deleted_at: string
}

/** Permanently removes items that were deleted before `before`. */
export async function purge(
  deps: Services,
  before: Date,
  onProgress: (done: number, total: number) => void,
): Promise<{ removed: Trashed[]; kept: Trashed[] }> {
  const all = await listTrash(deps)
  const due = all.filter(({ deleted_at }) => deleted_at < before.toISOString())
  for (const going of await listUnfinished(deps))
    await changing(deps, () => rm(going, { recursive: true, force: true }))
  for (const path of await listMovedBefore(deps, before)) await changing(deps, () => removeWhole(path))
  await forget(deps, due)
  await forgetRecorded(deps, due, all)
  const removed: Trashed[] = []
  for (const [done, one] of due.entries()) {
    const { path, orgId, nodeId } = one
    deps.draining.throwIfAborted()
    // Without this mark, the account's next login would create its personal organisation again.
    if (nodeId === undefined && (await isPersonal(deps, orgId)))
      await mkdir(join(trashFolder(deps.store), `${orgId}.purged`), { recursive: true })

    if (await changing(deps, () => removeWhole(path))) {
      removed.push(one)
      await auditPurge(deps, one)
      if (nodeId === undefined && (await isGone(deps, one, all))) await forgetOrg(deps, one)
    }
    onProgress(done + 1, due.length)
  }
  await eraseVectors(deps, due, all)
  for (const [orgId, nodes] of nodesByOrg(due))
    if (repoExists(orgRepo(deps.store, orgId))) await countTrash(deps, orgId, (id) => nodes.includes(id))
  return { removed: removed.map(asTrashed), kept: all.filter((one) => !due.includes(one)).map(asTrashed) }
}

/** Deletes the bots, the limits and the vectors of a purged organisation. */
async function forgetOrg(deps: Services, one: Trashed): Promise<void> {
  await eraseOrgVectors(deps, one.orgId)
  await deleteBotsOf(deps, { org_id: one.orgId })
  await deps.credentials.write((trx) => deleteLimit(trx, one.orgId))
}

/** True if no copy of a purged organisation is left. One that was restored from the trash, or moved, keeps its rows. */
async function isGone(deps: Services, { orgId, deleted_at }: Trashed, all: readonly Trashed[]): Promise<boolean> {
  const hasOther = all.some((one) => one.nodeId === undefined && one.orgId === orgId && one.deleted_at > deleted_at)
  if (hasOther || repoExists(orgRepo(deps.store, orgId))) return false
  return (await deps.placement.findElsewhere(orgId)) === undefined
}

async function auditPurge(deps: Services, { orgId, nodeId, deleted_at }: Trashed): Promise<void> {
  const where = nodeId === undefined ? { target: { type: 'org', id: orgId } as const } : { nodeId }
  await audit(deps, { action: 'trash.purged', actor: operator, orgId, ...where, detail: { deleted_at } })
}

/** Runs `work` as a change that maintenance mode waits for or refuses. @throws AppError maintenance */
function changing<T>({ store }: Pick<Services, 'store'>, work: () => Promise<T>): Promise<T> {
  return withRepoIntent(store, basename(trashFolder(store)), '', work)
}

/**
 * Renames a folder before removing it, because a partly removed repository must not be restored. Returns false if it has
 * been restored since the trash was read.
 */
async function removeWhole(path: string): Promise<boolean> {
  const going = join(dirname(path), unfinishedName())
  try {
    await moveRepo(path, going)
  } catch (error) {
    if (isGitError(error, 'repo_missing')) return false
    throw error
  }
  await rm(going, { recursive: true, force: true })
  return true
}

/** Lists the folders of organisations that moved to another cell before `before`. */
async function listMovedBefore({ store }: Pick<Services, 'store'>, before: Date): Promise<string[]> {
  const root = trashFolder(store)
  const isDue = (name: string) => {
    const [, orgId = '', ms = ''] = /^moved-(.+)\.(\d{1,15})$/.exec(name) ?? []
    return isId(orgId) && Number(ms) < before.getTime()
  }
  return (await listNames(root)).filter(isDue).map((name) => join(root, name))
}

/** Groups nodes by their organisations. */
function nodesByOrg(trashed: readonly Trashed[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>()
  for (const { orgId, nodeId } of trashed) {
    if (nodeId === undefined) continue
    const nodes = found.get(orgId)
    if (nodes) nodes.push(nodeId)
    else found.set(orgId, [nodeId])
  }
  return found
}

/** Deletes the tombstones of purged nodes, which do not need them. */
async function forget({ index }: Services, due: readonly Trashed[]): Promise<void> {
  for (const [orgId, nodes] of nodesByOrg(due))
    for (let at = 0; at < nodes.length; at += tombstonesAtOnce)
      await index.write((trx) => deleteTombstones(trx, orgId, nodes.slice(at, at + tombstonesAtOnce)))
}

/** Nodes whose recorded refs one transaction deletes. */
const recordedAtOnce = 20

/** Deletes what the log remembers of purged nodes. Their deletion is recorded first. */
async function forgetRecorded(deps: Services, due: readonly Trashed[], all: readonly Trashed[]): Promise<void> {
  const kept = new Set(all.flatMap((one) => (due.includes(one) ? [] : [`${one.orgId}/${one.nodeId}`])))
  const going = due.filter(({ orgId, nodeId }) => nodeId !== undefined && !kept.has(`${orgId}/${nodeId}`))
  for (const [orgId, nodes] of nodesByOrg(going))
    for (let at = 0; at < nodes.length; at += recordedAtOnce) {
      const some = nodes.slice(at, at + recordedAtOnce)
      await recordNodes(deps, orgId, some, historiesOf(deps)).catch((error: unknown) => {
        deps.log.warn({ err: error, orgId }, 'events of purged nodes could not be recorded')
      })
      await deps.events.write((trx) => deleteGoneRepos(trx, orgId, some))
    }
}

/** Erases the vectors of purged nodes. A node that was restored, or has another copy in the trash, keeps its own. */
async function eraseVectors(deps: Services, due: readonly Trashed[], all: readonly Trashed[]): Promise<void> {
  const kept = new Set(all.flatMap((one) => (due.includes(one) ? [] : [`${one.orgId}/${one.nodeId}`])))
  for (const [orgId, nodes] of nodesByOrg(due)) {
    const isGoing = (id: string) => !kept.has(`${orgId}/${id}`) && !repoExists(nodeRepo(deps.store, orgId, id))
    await eraseNodeVectors(deps, orgId, nodes.filter(isGoing))
  }
}

function asTrashed({ orgId, nodeId, deleted_at }: Trashed): Trashed {
  return { orgId, nodeId, deleted_at }
}

async function isPersonal(deps: Services, orgId: string): Promise<boolean> {
  return hasPersonalOrg(deps.credentials.read, orgId)
}

/** Lists `<org>.<ms>` and `<org>/<node>.<ms>.git`, oldest first. */
async function listTrash({ store }: Pick<Services, 'store'>): Promise<(Trashed & { readonly path: string })[]> {
  const found: (Trashed & { readonly path: string })[] = []
  const root = trashFolder(store)
  for (const name of await listNames(root)) {
    const [orgId = '', at] = name.split('.')
    if (!isId(orgId)) continue
    if (at !== undefined && isTime(at))
      found.push({ path: join(root, name), orgId, nodeId: undefined, deleted_at: dateOf(at) })
    for (const repo of at === undefined ? await listNames(join(root, name)) : []) {
      const node = repo.endsWith('.git') ? parseTrashedNode(repo.slice(0, -'.git'.length)) : undefined
      if (node)
        found.push({ path: join(root, name, repo), orgId, nodeId: node.nodeId, deleted_at: dateOf(node.deletedMs) })
    }
  }
  return found.sort((a, b) => (a.deleted_at < b.deleted_at ? -1 : 1))
}

/** Lists folders that a killed purge had begun to remove. */
async function listUnfinished({ store }: Pick<Services, 'store'>): Promise<string[]> {
  const root = trashFolder(store)
  const folders = [root, ...(await listNames(root)).filter(isId).map((orgId) => join(root, orgId))]
  const found = await Promise.all(
    folders.map(async (folder) => (await listNames(folder)).map((name) => ({ name, path: join(folder, name) }))),
  )
  return found
    .flat()
    .filter(({ name }) => isUnfinished(name))
    .map(({ path }) => path)
}

function dateOf(ms: string | number): string {
  return new Date(Number(ms)).toISOString()
}
