/** Whether the file system of the data folder keeps what Grove needs of it. */

import { rm, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncDirectory, writeSynced } from '../../gitstore/durable.ts'
import { ifThere } from '../../gitstore/presence.ts'
import { temporaryFile } from '../../gitstore/temporary-names.ts'
import { credentialsFile, runFolder } from '../domain/layout.ts'

/** File systems on other machines, by the type that statfs(2) says: their locks and syncs do not hold as those of a disk. */
const remoteTypes: Readonly<Record<number, string>> = {
  26985: 'NFS',
  20859: 'SMB',
  4283649346: 'CIFS',
  4266872130: 'SMB2',
  16914839: '9P',
  1702057286: 'FUSE',
  12805120: 'Ceph',
  198183888: 'Lustre',
  1397113167: 'AFS',
}

/** The part of the disk that should be free. */
const freePart = 0.05
/** Milliseconds that the clock may be behind a file that was written before. */
const clockToleranceMs = 60_000

/** A sentence for each problem. Writes, syncs and removes a file where `root` exists. */
export async function checkFolder(root: string): Promise<string[]> {
  const found = await ifThere(stat(root))
  // The first start makes it, below the nearest folder that exists.
  if (found === undefined) return checkFileSystem(await existingAbove(root))
  if (!found.isDirectory()) return [`DATA_DIR: ${root} is not a folder`]
  return [
    ...(await checkFileSystem(root)),
    ...(await checkReaders(root, found.mode)),
    ...(await checkRun(root, found.dev)),
    ...(await checkWriting(root)),
    ...(await checkClock(root)),
  ]
}

async function existingAbove(folder: string): Promise<string> {
  const parent = dirname(folder)
  return (await ifThere(stat(parent))) ? parent : existingAbove(parent)
}

async function checkFileSystem(folder: string): Promise<string[]> {
  const { type, bavail, blocks } = await statfs(folder)
  const remote = remoteTypes[type]
  const found = remote === undefined ? [] : [`DATA_DIR is on ${remote}: it must be on a local file system`]
  const free = bavail / blocks
  if (free < freePart) found.push(`DATA_DIR: ${Math.floor(free * 100)} % of its file system is free`)
  return found
}

/** Permissions of every user of the machine: to read, write or enter; to enter alone. */
const [anyOfOthers, enteringOfOthers] = [0o007, 0o001]

/** The texts of all organisations lie there. A folder above it that others cannot enter keeps them out. */
async function checkReaders(root: string, mode: number): Promise<string[]> {
  if ((mode & anyOfOthers) === 0) return []
  for (let above = dirname(root); ; above = dirname(above)) {
    if (((await stat(above)).mode & enteringOfOthers) === 0) return []
    if (dirname(above) === above) break
  }
  return [`DATA_DIR: every user of this machine may read ${root}, which holds all texts: chmod o= ${root}`]
}

/** A rename from `run/` into a repository must not cross file systems. */
async function checkRun(root: string, device: number): Promise<string[]> {
  const found = await ifThere(stat(runFolder(root)))
  return found === undefined || found.dev === device ? [] : ['DATA_DIR and its folder run/ are on two file systems']
}

async function checkWriting(root: string): Promise<string[]> {
  const file = join(root, temporaryFile('check'))
  try {
    await writeSynced(file, 'check\n')
    await syncDirectory(root)
    return []
  } catch (error) {
    return [`DATA_DIR cannot be written and synced: ${error instanceof Error ? error.message : error}`]
  } finally {
    await rm(file, { force: true }).catch(() => undefined)
  }
}

async function checkClock(root: string): Promise<string[]> {
  const written = await ifThere(stat(join(root, credentialsFile)))
  const behind = (written?.mtimeMs ?? 0) - Date.now()
  return behind > clockToleranceMs
    ? [`The clock is ${Math.round(behind / 1000)} s behind the last change of ${credentialsFile}`]
    : []
}
