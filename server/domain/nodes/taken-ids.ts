/** Ids that a new node cannot have. Nodes in the trash keep their ids, so that they can be restored. */
import { join } from 'node:path'
import { listNames } from '../../../gitstore/fs-exists.ts'
import { repoExists } from '../../../gitstore/repo-folders.ts'
import { readOrgsOf } from '../../../index/derived/node-queries.ts'
import { withFileLock } from '../../../index/sqlite/file-lock.ts'
import { AppError } from '../../base/errors.ts'
import { rulesForMain } from '../consent/branch-rules.ts'
import { findOrg } from '../indexing/freshness.ts'
import { isId, nodeRepo, trashFolder } from '../layout.ts'
import type { Services } from '../services.ts'

/**
 * Refuses ids that are in use. They may belong to a node on disk or in the index, in this or another organisation, or
 * in the trash.
 *
 * @throws AppError node_exists, node_in_trash
 */
export async function refuseTaken(deps: Services, orgId: string, ids: readonly string[]): Promise<void> {
  const orgs = await readOrgsOf((deps.wholeIndex ?? deps.index).read, ids)
  for (const id of ids) {
    const owner = orgs.get(id)
    if (owner !== undefined && owner !== orgId) throw nodeTakenError(id)
    if (owner === orgId || repoExists(nodeRepo(deps.store, orgId, id))) throw nodeExistsError(orgId, id)
  }
  const trashed = await findTrashed(deps, orgId, new Set(ids))
  if (trashed !== undefined) throw trashed.error
}

/** Milliseconds that a creation waits for the creations of other organisations. */
const lockMs = 20_000

/**
 * Runs `work` while nobody else creates nodes with chosen ids, in any organisation and process. Organisations have their
 * own locks, so without it two of them could create a node with the same id.
 *
 * @throws AppError draining; DatabaseError busy, and errors of `work`
 */
export async function withIdLock({ store, draining }: Services, work: () => Promise<void>): Promise<void> {
  const isDone = await withFileLock(
    join(store.run, 'chosen-ids'),
    draining,
    async () => {
      await work()
      return true
    },
    lockMs,
  )
  if (!isDone) throw new AppError('draining', 'The service is about to stop; try again in a moment')
}

/** The error for an id that is used in another organisation. It says nothing about that node. */
export function nodeTakenError(id: string): AppError {
  return new AppError('node_exists', `The id ${id} is already in use`)
}

/** The error for an id that is used in this organisation. */
export function nodeExistsError(orgId: string, id: string): AppError {
  return new AppError('node_exists', `A node with the id ${id} already exists`, {
    location: `/orgs/${orgId}/nodes/${id}`,
  })
}

/** The error for the id of a protected node in this organisation's trash. */
function nodeInTrashError(id: string): AppError {
  const detail = `The id ${id} belongs to a deleted node that a rule for main protects. Restore it from the trash, or choose another id`
  return new AppError('node_in_trash', detail)
}

/** Finds an id that a node in the trash keeps. Returns it with its error. */
export async function findTrashed(
  deps: Services,
  orgId: string,
  nodeIds: ReadonlySet<string>,
): Promise<{ readonly id: string; readonly error: AppError } | undefined> {
  for await (const { isOwn, ids } of keptInTrash(deps, orgId)) {
    const id = ids.find((one) => nodeIds.has(one))
    if (id !== undefined) return { id, error: isOwn ? nodeInTrashError(id) : nodeTakenError(id) }
  }
  return undefined
}

/** The ids that nodes in the trash keep from new nodes of this organisation. */
export async function idsKeptInTrash(deps: Services, orgId: string): Promise<Set<string>> {
  const kept = new Set<string>()
  for await (const { ids } of keptInTrash(deps, orgId)) for (const id of ids) if (isId(id)) kept.add(id)
  return kept
}

/**
 * Yields the ids in each folder of the trash. Nodes of other and of deleted organisations keep theirs. Nodes of
 * this organisation do if a rule holds for `main`: a new node with the same id would replace what the rule protects.
 */
async function* keptInTrash(deps: Services, orgId: string) {
  const org = await findOrg(deps, orgId)
  const keepsOwn = org !== undefined && (await rulesForMain(deps, org)) !== 'none'
  for (const name of await listNames(trashFolder(deps.store))) {
    const isOwn = name === orgId
    if (!isId(name.split('.')[0] ?? '') || (isOwn && !keepsOwn)) continue
    const ids = (await listNames(join(trashFolder(deps.store), name))).map((one) => one.split('.')[0] ?? '')
    yield { isOwn, ids }
  }
}
