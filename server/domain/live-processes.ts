/** The live processes of a data folder. */
import { join } from 'node:path'
import { lexists, listNames } from '../../gitstore/fs-exists.ts'
import { claimDeadProcess, lockFileIn } from '../../index/sqlite/file-lock.ts'

/**
 * Returns the ids of all processes that hold their lock below `run`.
 *
 * @param own this process, which is left out: it must not open its lock twice
 *
 * @throws system errors; DatabaseError busy, storage_error
 */
export async function listLiveProcesses(run: string, own?: string): Promise<string[]> {
  const live: string[] = []
  for (const process of await listNames(run)) {
    if (process !== own && isLiveProcess(run, process)) live.push(process)
  }
  return live
}

/**
 * True if another process holds its lock below `run`. Not for this process, which must not open its lock twice.
 *
 * @throws system errors; DatabaseError busy, storage_error
 */
export function isLiveProcess(run: string, process: string): boolean {
  const claim = claimDeadProcess(run, process)
  claim?.release()
  // No claim although its folder exists: the process is alive. Plain files here are locks between processes.
  return !claim && lexists(lockFileIn(join(run, process)))
}
