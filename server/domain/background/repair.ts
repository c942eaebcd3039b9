/** What a crash left in a repository of the service, put right from what the index knows; the log says what was done. */
import { findCommit } from '../../../gitstore/objects/commits.ts'
import type { Oid } from '../../../gitstore/repo.ts'
import { repoExists } from '../../../gitstore/repos.ts'
import { listEmptyRefs, removeEmptyObjects, restoreFrame, restoreRef } from '../../../gitstore/upkeep/repair.ts'
import { removeLeftovers } from '../../../gitstore/upkeep/stale-files.ts'
import { findBranchHead } from '../../../index/derived/branches.ts'
import { findIndexedLedger } from '../../../index/derived/node-queries.ts'
import { findOrgHead } from '../../../index/derived/org-queries.ts'
import { findPull } from '../../../index/derived/pulls.ts'
import type { Deps } from '../../deps.ts'
import { ledgerRef, main, nodeRepo, orgRepo, pinRef } from '../layout.ts'

/**
 * Removes what nobody holds any more and objects of no bytes, writes HEAD and config anew where they are gone or garbage, and points
 * empty refs at what the index last knew of them, if that is there. What cannot be mended stays as it is: reading says so.
 *
 * @param now by the clock of the file system
 */
export async function repairRepository(deps: Deps, now: number, orgId: string, nodeId?: string): Promise<void> {
  const repo = nodeId === undefined ? orgRepo(deps.store, orgId) : nodeRepo(deps.store, orgId, nodeId)
  if (!repoExists(repo)) return
  const tell = (done: object, what: string) => deps.log.warn({ path: repo.dir, ...done }, what)
  const leftovers = await removeLeftovers(deps.store, repo, now)
  if (leftovers.length > 0) tell({ leftovers }, 'removed locks and temporary files that nobody holds any more')
  const files = await restoreFrame(repo)
  if (files.length > 0) tell({ files }, 'wrote anew what a repository needs to be one')
  const objects = await removeEmptyObjects(repo)
  if (objects.length > 0) tell({ objects }, 'removed empty objects, which a crash left')
  for (const ref of listEmptyRefs(repo)) {
    const oid = await lastKnown(deps, ref, orgId, nodeId)
    if (oid === undefined || !(await findCommit(repo, oid))) continue
    if (await restoreRef(deps.store, { repo, ref }, oid)) tell({ ref, oid }, 'restored an empty ref from the index')
  }
}

/** What the index has of a ref; nothing of tags. */
async function lastKnown(deps: Deps, ref: string, orgId: string, nodeId?: string): Promise<Oid | undefined> {
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
