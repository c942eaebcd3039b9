/** The parts that only a cell has, in addition to its `Placement`. Only this file asks `isCell`. */
import type { ErrorRequestHandler, RequestHandler } from 'express'
import { countersOfCells, type NewCounter } from '../base/counters.ts'
import type { Job } from '../domain/background/sweep.ts'
import { isCell } from '../domain/cells/cell.ts'
import { cellJobs, reconcilePlaces } from '../domain/cells/reconciliation.ts'
import type { Services } from '../domain/services.ts'
import { proxyToOwner, translateMovedOrg } from '../http/cells/forwarding.ts'
import { migrationRoutes } from '../http/cells/migration-routes.ts'
import { limitPlaceReads, type PlaceReadLimit } from '../http/cells/place-reads.ts'

interface ServiceParts {
  /** Counters that all cells share. */
  readonly newSharedCounter: NewCounter | undefined
  /** Updates the directory of cells to match the folders, before the service listens. */
  settle(): Promise<void>
  readonly jobs: readonly Job[]
}

/** @param newCounter creates counters of this service. Undefined: no rate limits. */
export function servicePartsOf(deps: Services, newCounter: NewCounter | undefined): ServiceParts {
  if (!isCell(deps)) return { newSharedCounter: newCounter, settle: async () => {}, jobs: [] }
  return {
    newSharedCounter: newCounter && countersOfCells(deps.credentials),
    settle: () => reconcilePlaces(deps),
    jobs: cellJobs(deps),
  }
}

interface HttpParts {
  /** Run before the steps that need the organisation of a request. */
  readonly steps: readonly RequestHandler[]
  readonly errorSteps: readonly ErrorRequestHandler[]
}

export function httpPartsOf(deps: Services, limit: PlaceReadLimit): HttpParts {
  if (!isCell(deps)) return { steps: [], errorSteps: [] }
  return {
    steps: [proxyToOwner(deps, limitPlaceReads(limit)), migrationRoutes(deps)],
    errorSteps: [translateMovedOrg(deps)],
  }
}
