/** Everything but credentials and events, made again from the repositories. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { listRepos } from '../../gitstore/repos.ts'
import { deleteAllLogs } from '../../index/derived/history.ts'
import type { Deps } from '../deps.ts'
import { followNode, followOrg } from './follow.ts'
import { isId, orgFolder } from './places.ts'

export interface Reindexed {
  readonly orgs: number
  readonly nodes: number
  /** Repositories that could not be read; all others are served. */
  readonly failed: { path: string; reason: string }[]
}

/** Forgets the index and follows every repository. */
export async function reindex(
  deps: Deps,
  onProgress: (done: number, total: number) => void = () => {},
): Promise<Reindexed> {
  await deps.index.write(async (trx) => {
    await trx.deleteFrom('org').execute()
    await deleteAllLogs(trx)
  })
  return followAll(deps, onProgress)
}

/** Follows every repository below the data folder, and forgets the rows of those that are gone. */
export async function followAll(
  deps: Deps,
  onProgress: (done: number, total: number) => void = () => {},
): Promise<Reindexed> {
  const failed: Reindexed['failed'] = []
  const attempt = async (path: string, work: () => Promise<void>): Promise<void> => {
    await work().catch((error: unknown) => {
      deps.log.error({ err: error, path }, 'a repository could not be followed; it is left as it is')
      failed.push({ path, reason: error instanceof Error ? error.message : String(error) })
    })
  }
  const rows = await deps.index.read.selectFrom('org').select('id').execute()
  const orgs = [...new Set([...(await orgFolders(deps)), ...rows.map((row) => row.id)])].sort()
  const nodes: [string, string][] = []
  for (const org of orgs) {
    await attempt(org, () => followOrg(deps, org))
    const known = await deps.index.read.selectFrom('node').select('id').where('org_id', '=', org).execute()
    const names = (await listRepos(orgFolder(deps.store, org))).filter(isId)
    for (const node of new Set([...names, ...known.map((row) => row.id)])) nodes.push([org, node])
  }
  for (const [done, [org, node]] of nodes.entries()) {
    if (deps.draining.aborted) break
    // A node that has not moved is looked at without a turn of the event loop, in 0.1 ms.
    if (done % 20 === 19) await nextTurn()
    await attempt(join(org, `${node}.git`), () => followNode(deps, org, node))
    onProgress(done + 1, nodes.length)
  }
  return { orgs: orgs.length, nodes: nodes.length, failed }
}

async function orgFolders(deps: Deps): Promise<string[]> {
  return (await readdir(deps.store.root)).filter(isId)
}
