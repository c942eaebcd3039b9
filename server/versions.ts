/** The version of Grove that each live process of a data folder runs: the newest migration of the index that it knows. */

import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isAbsent } from '../gitstore/presence.ts'
import { isUnfinished } from '../gitstore/temporary-names.ts'
import { indexMigrations } from '../index/derived/migrations.ts'
import { listLiveProcesses } from './domain/live-processes.ts'

const ownVersion = Object.keys(indexMigrations).sort().at(-1) ?? ''

/** Writes this process's version into its folder below `run`, where other processes read it. */
export async function writeVersion(processFolder: string): Promise<void> {
  await writeFile(join(processFolder, 'version'), ownVersion)
}

/** Whether a process of another version lives, or one that has written none. @throws as listLiveProcesses */
export async function isOtherVersionAlive(run: string, own: string): Promise<boolean> {
  const live = await listLiveProcesses(run, own)
  const versions = await Promise.all(live.filter((id) => !isUnfinished(id)).map((id) => versionOf(join(run, id))))
  return versions.some((version) => version !== ownVersion)
}

async function versionOf(processFolder: string): Promise<string | undefined> {
  try {
    return await readFile(join(processFolder, 'version'), 'utf8')
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw error
  }
}
