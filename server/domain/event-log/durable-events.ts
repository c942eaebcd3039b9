/** Makes recorded events durable before anybody sees them. */
import { join } from 'node:path'
import { syncPath } from '../../../gitstore/durable.ts'
import { codeOf } from '../../../gitstore/errors.ts'
import type { Deps } from '../../base/deps.ts'
import { eventsFile } from '../layout.ts'

/**
 * Syncs all committed transactions of `events.sqlite`. It commits without a sync, so a power cut would otherwise lose
 * events that somebody has seen.
 */
export async function syncEvents({ store }: Pick<Deps, 'store'>): Promise<void> {
  const file = join(store.root, eventsFile)
  await syncPath(`${file}-wal`).catch((error: unknown) => {
    // A checkpoint has moved and synced everything.
    if (codeOf(error) !== 'ENOENT') throw error
  })
}
