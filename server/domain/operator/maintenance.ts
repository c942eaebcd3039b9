/** Switches maintenance mode on, and waits until the data folder is quiet. */
import { setTimeout as sleep } from 'node:timers/promises'
import { listRunningChanges, type RunningChange } from '../../../gitstore/refs/ref-lock.ts'
import { recoverAll } from '../../../gitstore/refs/ref-transaction.ts'
import { beginMaintenance, type MaintenanceMode } from '../maintenance-mode.ts'
import type { Services } from '../services.ts'

type QuietDeps = Pick<Services, 'store' | 'log' | 'draining'>

/** Milliseconds that running changes have to end. */
const changesEndMs = 60_000
const lookEveryMs = 50

/**
 * Switches the mode on. Returns the changes that still run after a minute; none: nothing changes a ref, an object or a
 * pack until the mode ends.
 *
 * @throws errors of the file system; the reason of `deps.draining`
 */
export async function beginQuiet(deps: QuietDeps, mode: MaintenanceMode): Promise<RunningChange[]> {
  const { store, log, draining } = deps
  await beginMaintenance(store.root, mode)
  for (const began = performance.now(); ; await sleep(lookEveryMs)) {
    draining.throwIfAborted()
    const running = await listRunningChanges(store)
    if (running.length === 0 || performance.now() - began > changesEndMs) return running
    // A dead process may have left a change, which is finished or undone here.
    await recoverAll(store, (error) => log.warn({ err: error }, 'a dead process could not be recovered'))
  }
}
