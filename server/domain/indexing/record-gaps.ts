/**
 * Records events that are missing. A process may have died between the index and the log, or a tag was moved by hand. A node whose refs the log describes costs as much as reading its refs.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isDamage } from '../../../gitstore/errors.ts'
import { repoExists } from '../../../gitstore/repo-folders.ts'
import { listPresentOrgs, listPresentRepos } from '../../../index/log/recorded.ts'
import { recordNodes, recordOrg } from '../event-log/record.ts'
import { historiesOf } from '../history.ts'
import { nodeRepo, orgRepo } from '../layout.ts'
import type { Services } from '../services.ts'

/** Nodes that are compared between two turns of the event loop: some 5 ms. */
const nodesAtOnce = 20
/** Rows that are read in one statement. */
const rowsAtOnce = 1_000

/**
 * Records what is missing of an organisation, of its deleted nodes, and of these nodes. Returns false if a repository
 * could not be read.
 */
export async function recordGaps(
  deps: Services,
  orgId: string,
  { isFirst, nodeIds }: { readonly isFirst: boolean; readonly nodeIds: readonly string[] },
): Promise<boolean> {
  let areAll = true
  if (isFirst) {
    areAll = await unlessDamaged(() => recordOrg(deps, orgId))
    if (repoExists(orgRepo(deps.store, orgId))) await recordDeleted(deps, orgId)
  }
  for (let at = 0; at < nodeIds.length; at += nodesAtOnce) {
    if (deps.draining.aborted) return false
    areAll = (await recordEach(deps, orgId, nodeIds.slice(at, at + nodesAtOnce))) && areAll
    await nextTurn()
  }
  return areAll
}

/** Records organisations that are gone. */
export async function recordGoneOrgs(deps: Services): Promise<void> {
  for (const orgId of await listPresentOrgs(deps.events.read))
    if (!repoExists(orgRepo(deps.store, orgId))) await unlessDamaged(() => recordOrg(deps, orgId))
}

/** Records nodes that are neither in the folder nor in the index. */
async function recordDeleted(deps: Services, orgId: string): Promise<void> {
  for (let after = ''; ; ) {
    const ids = await listPresentRepos(deps.events.read, orgId, after, rowsAtOnce)
    const gone = ids.filter((id) => id !== orgId && !repoExists(nodeRepo(deps.store, orgId, id)))
    if (gone.length > 0) await recordEach(deps, orgId, gone)
    const last = ids.at(-1)
    if (last === undefined || ids.length < rowsAtOnce || deps.draining.aborted) return
    after = last
    await nextTurn()
  }
}

/** Records the nodes together. If one of them is damaged, records the others, and returns false. */
async function recordEach(deps: Services, orgId: string, nodeIds: readonly string[]): Promise<boolean> {
  const record = (ids: readonly string[]) => recordNodes(deps, orgId, ids, historiesOf(deps))
  if (await unlessDamaged(() => record(nodeIds))) return true
  for (const id of nodeIds) await unlessDamaged(() => record([id]))
  return false
}

/** Returns false if a repository is damaged. It is recorded when it can be read again; the index job reports it. */
async function unlessDamaged(work: () => Promise<void>): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    if (isDamage(error)) return false
    throw error
  }
}
