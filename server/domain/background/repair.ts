/** Repairs a repository after a crash with the help of the index. Each repair is logged. */
import { findCommit } from '../../../gitstore/objects/commits.ts'
import type { Oid } from '../../../gitstore/repo.ts'
import { repoExists } from '../../../gitstore/repo-folders.ts'
import { listEmptyRefs, removeEmptyObjects, restoreHeadAndConfig, restoreRef } from '../../../gitstore/upkeep/repair.ts'
import { removeStaleFiles } from '../../../gitstore/upkeep/stale-files.ts'
import { findBranchHead } from '../../../index/derived/branches.ts'
import { findIndexedLedger } from '../../../index/derived/node-queries.ts'
import { findOrgHead } from '../../../index/derived/org-queries.ts'
import { findPull } from '../../../index/derived/pulls.ts'
import { ledgerRef, main, nodeRepo, orgRepo, pinRef } from '../layout.ts'
import type { Services } from '../services.ts'

/**
 * Removes stale locks, temporary files and empty objects. Rewrites HEAD and config if they are missing or unreadable.
 * Restores empty refs from the index if the commit exists. Leaves all other damage, which reads report.
 *
 * @param now by the clock of the file system
 */
export async function repairRepository(deps: Services, now: number, orgId: string, nodeId?: string): Promise<void> {
  const repo = nodeId === undefined ? orgRepo(deps.store, orgId) : nodeRepo(deps.store, orgId, nodeId)
  if (!repoExists(repo)) return
  const logRepair = (done: object, what: string) => deps.log.warn({ path: repo.dir, ...done }, what)
  const leftovers = await removeStaleFiles(deps.store, repo, now)
  if (leftovers.length > 0) logRepair({ leftovers }, 'removed stale locks and temporary files')
  const files = await restoreHeadAndConfig(repo)
  if (files.length > 0) logRepair({ files }, 'rewrote HEAD or config')
  const objects = await removeEmptyObjects(repo)
  if (objects.length > 0) logRepair({ objects }, 'removed empty objects, left by a crash')
  for (const ref of await listEmptyRefs(repo)) {
    const oid = await lastKnown(deps, ref, orgId, nodeId)
    if (oid === undefined || !(await findCommit(repo, oid))) continue
    if (await restoreRef(deps.store, { repo, ref }, oid))
      logRepair({ ref, oid }, 'restored an empty ref from the index')
  }
}

/** Returns the indexed value of a ref. Tags are not indexed. */
async function lastKnown(deps: Services, ref: string, orgId: string, nodeId?: string): Promise<Oid | undefined> {
  const db = deps.index.read
  if (nodeId === undefined) {
    if (ref !== main) return undefined
    return findOrgHead(db, orgId)
  }
  if (ref === ledgerRef) return findIndexedLedger(db, nodeId)
  const number = Number(/^refs\/grove\/pulls\/(\d+)$/.exec(ref)?.[1] ?? 0)
  if (number > 0 && ref === pinRef(number)) {
    return (await findPull(db, nodeId, number))?.source_commit
  }
  const name = /^refs\/heads\/(.+)$/.exec(ref)?.[1]
  return name === undefined ? undefined : findBranchHead(db, nodeId, name)
}
