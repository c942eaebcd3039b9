/** Refuses changes while the service is in maintenance, or its disk is full. */

import type { RequestHandler } from 'express'
import { diskFullError } from '../domain/disk-reserve.ts'
import { maintenanceError } from '../domain/maintenance-mode.ts'
import type { Services } from '../domain/services.ts'
import { contextOf } from './context.ts'

/** @throws AppError maintenance, storage_full */
export function refuseChangesInMaintenance({
  maintenance,
  reserve,
  now,
}: Pick<Services, 'maintenance' | 'reserve' | 'now'>): RequestHandler {
  return (req, _res, next) => {
    const { isServedInMaintenance, isServedOnFullDisk } = contextOf(req).operation
    // Also asked for what is served, which may need the reserve.
    const isFull = reserve.isFreed() && !isServedOnFullDisk
    const mode = isServedInMaintenance ? undefined : maintenance.current()
    if (mode) next(maintenanceError(mode, now()))
    else next(isFull ? diskFullError() : undefined)
  }
}
