/** Finds repositories that are gone although nobody deleted them. */
import { join } from 'node:path'
import { lexists, listNames } from '../../../gitstore/fs-exists.ts'
import { listExpectedRepos } from '../../../index/log/expected-repos.ts'
import type { PathProblem } from '../format/path-problem.ts'
import { eventsFile, orgRepository, trashName } from '../layout.ts'

const reason = 'the repository is gone, and nobody deleted it; replace it with its mirror'

/**
 * Compares the log of events with the repositories. Finds nothing if the log cannot be read, which the caller reports.
 *
 * @throws GitError storage_*, busy
 */
export async function findVanished(root: string): Promise<PathProblem[]> {
  const orgsInTrash = (await listNames(join(root, trashName))).filter((name) => name.includes('.'))
  const found: PathProblem[] = []
  for (const { org_id, node_id } of expectedIn(root)) {
    const isOrg = node_id === org_id
    const path = join(org_id, isOrg ? orgRepository : `${node_id}.git`)
    // An organisation without a folder is named once. Its own repository is examined if there is a folder.
    if (lexists(join(root, path)) || lexists(join(root, org_id)) === isOrg) continue
    const isKept = isOrg
      ? orgsInTrash.some((name) => name.includes(org_id)) || lexists(join(root, `foreign-${org_id}`))
      : (await listNames(join(root, trashName, org_id))).some((name) => name.startsWith(node_id))
    if (!isKept) found.push({ path, reason })
  }
  return found
}

function expectedIn(root: string) {
  try {
    return listExpectedRepos(join(root, eventsFile))
  } catch {
    return []
  }
}
