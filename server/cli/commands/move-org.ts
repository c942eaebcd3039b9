/** `grove move-org`: moves an organisation from this cell to another. */
import { findCell } from '../../../index/credentials/cells.ts'
import { plural } from '../../base/plural.ts'
import { requireCell } from '../../domain/cells/cell.ts'
import { LeftClosedError, NotMovedError } from '../../domain/cells/migration/copying.ts'
import { connectToCell } from '../../domain/cells/migration/other-cell.ts'
import { moveOrg } from '../../domain/cells/migration/send.ts'
import { type Call, printLine, progressFor, requireFolder, requireOrgId, UsageError, withDeps } from './command.ts'

interface MoveFlags {
  readonly jobs?: string
}

/** Largest number of repositories copied at a time. Each needs a Git process on either side. */
const maxJobs = 64

/**
 * Moves an organisation.
 *
 * @returns 1 if it was not moved, its cell cannot be determined, or the other cell does not serve it yet
 */
export async function moveOrgTo(call: Call, org: string, to: string, { jobs = '2' }: MoveFlags): Promise<number> {
  const orgId = requireOrgId(org)
  const atOnce = Number(jobs)
  if (!(Number.isInteger(atOnce) && atOnce >= 1 && atOnce <= maxJobs))
    throw new UsageError(`--jobs must be a whole number from 1 to ${maxJobs}`)
  const own = call.config.cell?.name
  if (own === undefined) throw new UsageError('CELL is not set. Organisations can only be moved between cells')
  if (to === own) throw new UsageError(`This is already the cell ${to}; name another cell`)
  await requireFolder(call.config.dataDir)
  return withDeps(call, async (opened) => {
    const deps = requireCell(opened)
    const target = await findCell(deps.credentials.read, to)
    if (target === undefined) throw new UsageError(`There is no cell ${to}; grove cells lists all`)
    const progress = progressFor('Copying')
    try {
      const destination = connectToCell(deps, target, call.signal)
      const moved = await moveOrg(deps, orgId, destination, { atOnce, signal: call.signal, onProgress: progress.at })
      progress.end()
      const took = `${plural(moved.repositories, 'repository', 'repositories')}`
      if (moved.isServed) {
        printLine(
          `${orgId} now belongs to cell ${to} (${took} copied). Changes were refused for ${(moved.closedMs / 1000).toFixed(1)} s`,
        )
        return 0
      }
      printLine(
        `${orgId} now belongs to cell ${to} (${took} copied), but that cell does not respond. It will serve the organisation when it is running`,
      )
      return 1
    } catch (error) {
      progress.end()
      if (error instanceof LeftClosedError) printLine(`${orgId} has not been moved yet. ${error.message}`)
      else if (error instanceof NotMovedError)
        printLine(`${orgId} was not moved, and it is unchanged. ${error.message}`)
      else throw error
      return 1
    }
  })
}
