/**
 * Maintenance mode, in which no ref, object or pack changes. The data folder can then be copied or moved.
 *
 * A file in the data folder switches it on for all processes. Each process reads the file at most once a second and
 * refuses requests early. A transaction of refs looks for the file itself, after its token exists. A process that
 * writes the file and then finds no token has seen the last change.
 */
import { lstatSync, readFileSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { syncDirectory, writeSynced } from '../../gitstore/durable.ts'
import { isAbsent } from '../../gitstore/fs-exists.ts'
import { AppError } from '../base/errors.ts'
import { maintenanceFile } from './layout.ts'

export interface MaintenanceMode {
  /** ISO 8601. Absent if the file cannot be read. */
  readonly since?: string
  /** The operator's message for users, one line. */
  readonly message?: string
  /** ISO 8601: when the operator expects to end it. Only the operator ends it. */
  readonly until?: string
}

/** The mode, as a process knows it. */
export interface MaintenanceWatch {
  /** Returns the mode. Undefined: it is off. The answer is at most a second old. */
  current(): MaintenanceMode | undefined
}

/** The most characters of a message. */
export const maxMessage = 200

/** Milliseconds between two reads of the file. */
const lookEveryMs = 1_000
/** Seconds after which a client retries if the operator has set no end. */
const defaultRetrySeconds = 60
/** The longest wait that is sent to a client, in seconds. */
const maxRetrySeconds = 3_600

const modeFormat = z.object({
  since: z.iso.datetime(),
  message: z.string().max(maxMessage).optional(),
  until: z.iso.datetime().optional(),
})

/** Returns the mode. A file that cannot be read counts as on. */
export function readMaintenanceMode(root: string): MaintenanceMode | undefined {
  try {
    const { since, message, until } = modeFormat.parse(JSON.parse(readFileSync(join(root, maintenanceFile), 'utf8')))
    return { since, ...(message !== undefined && { message }), ...(until !== undefined && { until }) }
  } catch (error) {
    return isAbsent(error) ? undefined : {}
  }
}

/** Watches the mode of a data folder, without a timer. @param clock milliseconds */
export function watchMaintenanceMode(root: string, clock = () => performance.now()): MaintenanceWatch {
  let known: MaintenanceMode | undefined
  let readAt = Number.NEGATIVE_INFINITY
  return {
    current() {
      const now = clock()
      if (now - readAt >= lookEveryMs) {
        known = readMaintenanceMode(root)
        readAt = now
      }
      return known
    },
  }
}

/** Switches the mode on, durably. */
export async function beginMaintenance(root: string, mode: MaintenanceMode): Promise<void> {
  const path = join(root, maintenanceFile)
  const staged = `${path}.new`
  await rm(staged, { force: true })
  await writeSynced(staged, `${JSON.stringify(mode)}\n`)
  await rename(staged, path)
  await syncDirectory(root)
}

/** Switches the mode off, durably. Returns false if it was off. */
export async function endMaintenance(root: string): Promise<boolean> {
  try {
    await rm(join(root, maintenanceFile))
  } catch (error) {
    if (isAbsent(error)) return false
    throw error
  }
  await syncDirectory(root)
  return true
}

/** Refuses a transaction of refs while the mode is on. @throws AppError maintenance */
export function refuseInMaintenance(root: string, now: () => Date): void {
  try {
    lstatSync(join(root, maintenanceFile))
  } catch (error) {
    if (isAbsent(error)) return
  }
  throw maintenanceError(readMaintenanceMode(root) ?? {}, now())
}

/** Returns the refusal. `retry_after` is in seconds. */
export function maintenanceError({ message, until }: MaintenanceMode, now: Date): AppError {
  const left = until === undefined ? Number.NaN : Math.ceil((Date.parse(until) - now.getTime()) / 1000)
  const seconds = left > 0 ? Math.min(left, maxRetrySeconds) : defaultRetrySeconds
  const detail = `The service is in maintenance, so nothing can be changed now. ${message ?? 'Reading works; try again later'}`
  return new AppError('maintenance', detail, { retry_after: seconds })
}
