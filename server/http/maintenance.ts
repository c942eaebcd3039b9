/** Refuses requests that would change content while the service is in maintenance. */

import type { RequestHandler } from 'express'
import type { Deps } from '../base/deps.ts'
import { maintenanceError } from '../domain/maintenance-mode.ts'
import { contextOf } from './context.ts'

/** @throws AppError maintenance */
export function refuseChangesInMaintenance({ maintenance, now }: Pick<Deps, 'maintenance' | 'now'>): RequestHandler {
  return (req, _res, next) => {
    const mode = contextOf(req).operation.isServedInMaintenance ? undefined : maintenance.current()
    next(mode && maintenanceError(mode, now()))
  }
}
