/** Lists the repositories of a data folder by their names. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { listNames } from '../../../gitstore/fs-exists.ts'
import type { Repo } from '../../../gitstore/repo.ts'
import { eachRepo, listRepos } from '../../../gitstore/repo-folders.ts'
import type { Store } from '../../../gitstore/store.ts'
import { eachNodeId } from '../../../index/derived/node-queries.ts'
import { listOrgIds } from '../../../index/derived/org-queries.ts'
import { listProposed } from '../../../index/derived/proposed-nodes.ts'
import {
  arrivingFolder,
  isId,
  ledgerRef,
  main,
  orgFolder,
  orgRepository,
  parseTrashedNode,
  trashFolder,
} from '../layout.ts'
import type { Services } from '../services.ts'

export interface StoredRepository {
  /** The path below the data folder: `<org id>/<node id>.git` or `<org id>/org.git`. */
  readonly path: string
  readonly orgId: string
  /** Undefined for the organisation's own repository. */
  readonly nodeId: string | undefined
}

/** Lists repositories by path. An organisation's own repository is listed even if it is missing. */
export async function listStoredRepositories(root: string): Promise<StoredRepository[]> {
  const found: StoredRepository[] = []
  for (const orgId of (await readdir(root)).filter(isId).sort()) {
    for (const nodeId of (await listRepos(join(root, orgId))).filter(isId))
      found.push({ path: join(orgId, `${nodeId}.git`), orgId, nodeId })
    found.push({ path: join(orgId, orgRepository), orgId, nodeId: undefined })
  }
  return found
}

/** Lists organisations that have a folder or a row, in order. Skips those that have rows but have not arrived yet. */
export async function listOrgs({ store, index }: Pick<Services, 'store' | 'index'>): Promise<string[]> {
  const folders = (await readdir(store.root)).filter(isId)
  const arriving = await listNames(arrivingFolder(store.root))
  const rows = (await listOrgIds(index.read)).filter((id) => !arriving.includes(id))
  return [...new Set([...folders, ...rows])].sort()
}

/** Lists nodes that have a repository or a row, in order. Yields to the event loop, except while it sorts. */
export async function listNodes({ store, index }: Pick<Services, 'store' | 'index'>, orgId: string): Promise<string[]> {
  const found = new Set<string>()
  for await (const id of eachNodeId(index.read, orgId)) found.add(id)
  for (const { id } of await listProposed(index.read, orgId)) found.add(id)
  for await (const name of eachRepo(orgFolder(store, orgId))) if (!found.has(name) && isId(name)) found.add(name)
  return [...found].sort()
}

/** The ref that holds the identity of a repository. */
export function identityRef({ nodeId }: Pick<StoredRepository, 'nodeId'>): string {
  return nodeId === undefined ? main : ledgerRef
}

/** The repository of a deleted node. A node that was created and deleted again has several. */
export interface TrashedNode {
  readonly nodeId: string
  /** Milliseconds since 1970. */
  readonly deletedMs: number
  readonly repo: Repo
}

/** Lists the trash of an organisation, in no order. Yields the event loop after each thousand. */
export async function listTrashed(store: Store, orgId: string): Promise<TrashedNode[]> {
  const folder = join(trashFolder(store), orgId)
  const found: TrashedNode[] = []
  for await (const name of eachRepo(folder)) {
    const parsed = parseTrashedNode(name)
    if (parsed) found.push({ ...parsed, repo: { dir: join(folder, `${name}.git`) } })
  }
  return found
}
