/**
 * The version of Grove that each live process of a data folder runs.
 *
 * The file `version` in the process's folder below `run` has two lines. The first is the newest migration of the index
 * that the process knows. The second is the version of the package, which 1.0.0 did not write.
 */

import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ignoreMissing } from '../../gitstore/fs-exists.ts'
import { isUnfinished } from '../../gitstore/temporary-names.ts'
import { indexMigrations } from '../../index/derived/migrations.ts'
import { ConfigError } from '../base/config.ts'
import { version } from '../base/release.ts'
import { listLiveProcesses } from '../domain/live-processes.ts'

interface RunningVersion {
  /** The newest migration of the index. */
  readonly schema: string
  readonly release: string | undefined
}

const own: RunningVersion = {
  schema: Object.keys(indexMigrations).sort().at(-1) ?? '',
  release: version,
}

/** Writes this process's version into its folder below `run`, where other processes read it. */
export async function writeVersion(processFolder: string): Promise<void> {
  await writeFile(join(processFolder, 'version'), `${own.schema}\n${own.release}\n`)
}

/** True if a live process has another version, or has not written one. @throws errors of `listLiveProcesses` */
export async function isOtherVersionAlive(run: string, ownProcess: string): Promise<boolean> {
  return (await versionsBeside(run, ownProcess)).some((version) => version?.schema !== own.schema)
}

/**
 * Refuses the folder while a process of another major version uses it. Each may misread files that the other one
 * writes. A process that has written no version is still starting, and finds this one.
 *
 * @throws ConfigError; errors of `listLiveProcesses`
 */
export async function refuseOtherMajor(run: string, ownProcess: string): Promise<void> {
  for (const version of await versionsBeside(run, ownProcess)) {
    const { release } = version ?? own
    if (majorOf(release) !== majorOf(own.release))
      throw new ConfigError(
        `DATA_DIR: Grove ${release} uses this folder, and this is Grove ${own.release}; stop that one first`,
      )
  }
}

/** Returns the major version. Version 1.0.0 wrote no release. */
function majorOf(release = '1'): string | undefined {
  return release.split('.')[0]
}

/** Returns the version of each other live process. Undefined: it has not written one yet. */
async function versionsBeside(run: string, ownProcess: string): Promise<(RunningVersion | undefined)[]> {
  const live = await listLiveProcesses(run, ownProcess)
  return Promise.all(live.filter((id) => !isUnfinished(id)).map((id) => versionOf(join(run, id))))
}

async function versionOf(processFolder: string): Promise<RunningVersion | undefined> {
  const text = await ignoreMissing(readFile(join(processFolder, 'version'), 'utf8'))
  if (text === undefined) return undefined
  const [schema = '', release] = text.trimEnd().split('\n')
  return { schema, release }
}
