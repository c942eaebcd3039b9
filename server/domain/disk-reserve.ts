/**
 * A reserve of disk space for deleting, signing in and purging.
 *
 * While there is room, a folder of the data folder holds bytes and files. A process that finds almost no room left
 * removes it. Until there is room for it again, requests that write more are refused.
 */
import { randomBytes } from 'node:crypto'
import { rmSync, statfsSync, writeFileSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Logger } from 'pino'
import { writeSynced } from '../../gitstore/durable.ts'
import { lexists } from '../../gitstore/fs-exists.ts'
import { unfinishedName } from '../../gitstore/temporary-names.ts'
import { AppError } from '../base/errors.ts'
import { reserveFolder } from './layout.ts'

/** The settings. Without `diskReserve`, its bytes, there is none. */
interface Folder {
  readonly dataDir: string
  readonly diskReserve?: number
}

/** The reserve, as a process knows it. */
export interface ReserveWatch {
  /** True if the disk is full and the reserve was freed. The answer is at most a second old. */
  isFreed(): boolean
}

/** Milliseconds between two looks at the disk. */
const lookEveryMs = 1_000
/** The reserve is freed when fewer bytes or files are left. */
const least = { bytes: 4 * 1_048_576, files: 32 }
/** Files of the reserve. A disk with many small files first lacks files. */
const reservedFiles = 64

/** Watches the disk without a timer, and frees the reserve when the disk is full. */
export function watchReserve(config: Folder, log: Logger): ReserveWatch {
  let [isFreed, lookedAt] = [false, Number.NEGATIVE_INFINITY]
  return {
    isFreed() {
      if (performance.now() - lookedAt < lookEveryMs) return isFreed
      lookedAt = performance.now()
      const before = isFreed
      try {
        isFreed = freeReserve(config)
      } catch (error) {
        log.warn({ err: error }, 'the free space of the disk is not known')
      }
      if (isFreed && !before) log.error('the disk is full: its reserve was freed, and most changes are refused')
      return isFreed
    },
  }
}

/** Frees the reserve if the disk is full. Returns true while there is none, and no room for one. @throws system errors */
export function freeReserve({ dataDir, diskReserve = 0 }: Folder): boolean {
  if (diskReserve === 0) return false
  const folder = join(dataDir, reserveFolder)
  if (!hasRoom(dataDir, least)) rmSync(folder, { recursive: true, force: true })
  return !lexists(folder) && !hasRoom(dataDir, needed(diskReserve))
}

/** Makes the reserve if it is missing and there is room. */
export async function keepReserve({
  config: { dataDir, diskReserve = 0 },
  reserve,
}: {
  readonly config: Folder
  readonly reserve: ReserveWatch
}): Promise<void> {
  const folder = join(dataDir, reserveFolder)
  if (reserve.isFreed() || diskReserve === 0 || lexists(folder)) return
  const making = join(dataDir, unfinishedName())
  try {
    await mkdir(making)
    // Some file systems store zeros without taking space.
    await writeSynced(join(making, '0'), await promisify(randomBytes)(diskReserve))
    for (let n = 1; n < reservedFiles; n++) writeFileSync(join(making, String(n)), '')
    await rename(making, folder)
  } finally {
    await rm(making, { recursive: true, force: true })
  }
}

/** Returns the refusal of a request that writes more than a deletion. */
export function diskFullError(): AppError {
  return new AppError(
    'storage_full',
    'The disk is full. Until there is room, only reading, signing in and deleting work',
  )
}

/** Room for the reserve, which must not be freed at once. */
function needed(bytes: number): typeof least {
  return { bytes: bytes + 2 * least.bytes, files: reservedFiles + 2 * least.files }
}

/** True if the disk has room for this. Some file systems have no limit of files, and say 0. */
function hasRoom(folder: string, { bytes, files }: typeof least): boolean {
  const disk = statfsSync(folder)
  return disk.bavail * disk.bsize >= bytes && (disk.files === 0 || disk.ffree >= files)
}
