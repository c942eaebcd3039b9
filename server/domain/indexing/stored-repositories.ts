/** Lists the repositories of a data folder by their names. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { listRepos } from '../../../gitstore/repos.ts'
import { isId, ledgerRef, main, orgRepository } from '../layout.ts'

export interface StoredRepository {
  /** Below the data folder: `<org id>/<node id>.git`, `<org id>/org.git`. */
  readonly path: string
  readonly orgId: string
  /** Undefined: the organisation's own. */
  readonly nodeId: string | undefined
}

/** By path. An organisation's own repository is listed even if it is missing. */
export async function listStoredRepositories(root: string): Promise<StoredRepository[]> {
  const found: StoredRepository[] = []
  for (const orgId of (await readdir(root)).filter(isId).sort()) {
    for (const nodeId of (await listRepos(join(root, orgId))).filter(isId))
      found.push({ path: join(orgId, `${nodeId}.git`), orgId, nodeId })
    found.push({ path: join(orgId, orgRepository), orgId, nodeId: undefined })
  }
  return found
}

/** The ref that holds the repository's identity. */
export function identityRef({ nodeId }: Pick<StoredRepository, 'nodeId'>): string {
  return nodeId === undefined ? main : ledgerRef
}
