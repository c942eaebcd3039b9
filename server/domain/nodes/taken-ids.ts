/** Ids that a new node cannot have. Nodes in the trash keep their ids, so that they can be restored. */
import { join } from 'node:path'
import { listNames } from '../../../gitstore/fs-exists.ts'
import { repoExists } from '../../../gitstore/repo-folders.ts'
import type { Store } from '../../../gitstore/store.ts'
import { readOrgsOf } from '../../../index/derived/node-queries.ts'
import { withFileLock } from '../../../index/sqlite/file-lock.ts'
import type { Deps } from '../../base/deps.ts'
import { AppError } from '../../base/errors.ts'
import { isId, nodeRepo, trashFolder } from '../layout.ts'

/**
 * Refuses ids that are in use. They may belong to a node on disk or in the index, in this or another organisation, or
 * in the trash of another organisation.
 *
 * @throws AppError node_exists
 */
export async function refuseTaken(deps: Deps, orgId: string, ids: readonly string[]): Promise<void> {
  const orgs = await readOrgsOf((deps.wholeIndex ?? deps.index).read, ids)
  for (const id of ids) {
    const owner = orgs.get(id)
    if (owner !== undefined && owner !== orgId) throw nodeTakenError(id)
    if (owner === orgId || repoExists(nodeRepo(deps.store, orgId, id))) throw nodeExistsError(orgId, id)
  }
  const trashed = await findTrashedElsewhere(deps.store, orgId, new Set(ids))
  if (trashed !== undefined) throw nodeTakenError(trashed)
}

/** Milliseconds that a creation waits for the creations of other organisations. */
const lockMs = 20_000

/**
 * Runs `work` while nobody else creates nodes with chosen ids, in any organisation and process. Organisations have their
 * own locks, so without it two of them could create a node with the same id.
 *
 * @throws AppError draining; DatabaseError busy, and errors of `work`
 */
export async function withIdLock({ store, draining }: Deps, work: () => Promise<void>): Promise<void> {
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

/** Finds the first of these ids in the trash of another or a deleted organisation. */
export async function findTrashedElsewhere(
  store: Store,
  orgId: string,
  nodeIds: ReadonlySet<string>,
): Promise<string | undefined> {
  for (const name of await listNames(trashFolder(store))) {
    const [owner = '', deletedAt] = name.split('.')
    if (!isId(owner) || (deletedAt === undefined && owner === orgId)) continue
    const found = (await listNames(join(trashFolder(store), name))).map((one) => one.split('.')[0] ?? '')
    const taken = found.find((id) => nodeIds.has(id))
    if (taken !== undefined) return taken
  }
  return undefined
}

/** The ids of all nodes in the trash that belong to other organisations. */
export async function idsTrashedElsewhere(store: Store, orgId: string): Promise<Set<string>> {
  const ids = new Set<string>()
  for (const name of await listNames(trashFolder(store))) {
    const [owner = ''] = name.split('.')
    if (!isId(owner) || name === orgId) continue
    for (const one of await listNames(join(trashFolder(store), name))) {
      const [id = ''] = one.split('.')
      if (isId(id)) ids.add(id)
    }
  }
  return ids
}
