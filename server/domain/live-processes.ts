/** The processes that use a data folder now. */
import { join } from 'node:path'
import { lexists, listNames } from '../../gitstore/fs-exists.ts'
import { claimDeadProcess, lockFileIn } from '../../index/sqlite/file-lock.ts'

/**
 * The ids of all processes that hold their lock below `run`, without `own`, whose lock this process must not open twice.
 *
 * @throws system errors; DatabaseError busy, storage_error
 */
export async function listLiveProcesses(run: string, own?: string): Promise<string[]> {
  const live: string[] = []
  for (const process of await listNames(run)) {
    if (process === own) continue
    const claim = claimDeadProcess(run, process)
    claim?.release()
    // No claim though its folder exists: the process lives. Plain files here are locks between processes.
    if (!claim && lexists(lockFileIn(join(run, process)))) live.push(process)
  }
  return live
}
