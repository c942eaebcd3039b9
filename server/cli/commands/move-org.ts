/** `grove move-org`: moves an organisation of this cell to another one. */
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

/** Repositories copied at a time: each has a git on either side. */
const maxJobs = 64

/** Exit code 1 if the organisation stays where it is, whose it is cannot be asked, or the other cell does not serve it yet. */
export async function moveOrgTo(call: Call, org: string, to: string, { jobs = '2' }: MoveFlags): Promise<number> {
  const orgId = requireOrgId(org)
  const atOnce = Number(jobs)
  if (!(Number.isInteger(atOnce) && atOnce >= 1 && atOnce <= maxJobs))
    throw new UsageError(`--jobs is a whole number from 1 to ${maxJobs}`)
  const own = call.config.cell?.name
  if (own === undefined) throw new UsageError('CELL is not set: organisations move between cells')
  if (to === own) throw new UsageError(`This is the cell ${to}: name another one`)
  await requireFolder(call.config.dataDir)
  return withDeps(call, async (opened) => {
    const deps = requireCell(opened)
    const target = await findCell(deps.credentials.read, to)
    if (target === undefined) throw new UsageError(`There is no cell ${to}; grove cells names them`)
    const progress = progressFor('Copying')
    try {
      const destination = connectToCell(deps, target, call.signal)
      const moved = await moveOrg(deps, orgId, destination, { atOnce, signal: call.signal, onProgress: progress.at })
      progress.end()
      const took = `${plural(moved.repositories, 'repository', 'repositories')}`
      if (moved.isServed) {
        printLine(`${orgId} is at ${to}: ${took}; changes were refused for ${(moved.closedMs / 1000).toFixed(1)} s`)
        return 0
      }
      printLine(`${orgId} is ${to}'s, with ${took}, but that cell does not answer: it serves it once it runs`)
      return 1
    } catch (error) {
      progress.end()
      if (error instanceof LeftClosedError) printLine(`${orgId} is not moved yet. ${error.message}`)
      else if (error instanceof NotMovedError)
        printLine(`${orgId} was not moved, and nothing of it was changed. ${error.message}`)
      else throw error
      return 1
    }
  })
}
