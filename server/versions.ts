/** Which version of Grove each live process of a data folder is: by the newest migration of the index that it knows. */

import { readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from '../gitstore/errors.ts'
import { indexMigrations } from '../index/derived/migrations.ts'
import { takeOver } from '../index/sqlite/file-lock.ts'

const ownVersion = Object.keys(indexMigrations).sort().at(-1) ?? ''

/** For others: into the process's folder below `run`. */
export async function writeVersion(processFolder: string): Promise<void> {
  await writeFile(join(processFolder, 'version'), ownVersion)
}

/** Whether a process lives that is of another version, or does not say. @throws system errors; DatabaseFault busy, storage_error */
export function isOtherVersionAlive(run: string, ownProcess: string): boolean {
  return readdirSync(run, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== ownProcess && !entry.name.startsWith('tmp-'))
    .some(({ name }) => versionOf(join(run, name)) !== ownVersion && isAlive(run, name))
}

function versionOf(processFolder: string): string | undefined {
  try {
    return readFileSync(join(processFolder, 'version'), 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

function isAlive(run: string, process: string): boolean {
  const claim = takeOver(run, process)
  claim?.release()
  return claim === undefined
}
