/** Removes the logs of organisations that were deleted long ago. */
import { exists } from '../../../gitstore/fs-exists.ts'
import { emptyLog, listGoneLogs } from '../../../index/log/gone-logs.ts'
import { removeLogSlice } from '../../../index/log/moved-tables.ts'
import { orgFolder } from '../layout.ts'
import type { Services } from '../services.ts'

const dayMs = 86_400_000
/** Organisations of one step. */
const orgsAtOnce = 20

/**
 * Removes the logs of organisations that were deleted longer ago than events are kept. The rows of their
 * repositories also go. Returns false if more remain.
 */
export async function removeGoneLogs({ config, draining, events, now, store }: Services): Promise<boolean> {
  const before = now().getTime() - config.eventRetentionDays * dayMs
  const gone = await listGoneLogs(events.read, before, orgsAtOnce)
  for (const orgId of gone) {
    // An operator may have taken it out of the trash.
    const isBack = () => exists(orgFolder(store, orgId))
    for (let isOver = false; !isOver && !draining.aborted; )
      isOver = await events.write(async (trx) => {
        if (isBack()) return true
        await emptyLog(trx, orgId)
        return removeLogSlice(trx, orgId)
      })
  }
  return gone.length < orgsAtOnce
}
