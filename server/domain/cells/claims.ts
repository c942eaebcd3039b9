/** What a cell says of its own organisations in the directory; without cells all of it does nothing. */
import { GitError } from '../../../gitstore/errors.ts'
import { findCell } from '../../../index/credentials/cells.ts'
import { insertPlaces, renewClaim, setPlaceState } from '../../../index/credentials/places.ts'
import type { PlaceRow } from '../../../index/credentials/schema.ts'
import type { Deps } from '../../base/deps.ts'
import { Refusal } from '../../base/errors.ts'
import { chooseCell } from './places.ts'

type Directory = Pick<Deps, 'cell' | 'credentials'>

/** @throws Refusal moving: the operator has closed this cell to new organisations */
export async function requireOpen({ cell, credentials }: Directory): Promise<void> {
  if (cell === undefined) return
  const state = await findCell(credentials.read, cell.name)
  if (state?.open !== 0) return
  const other = await chooseCell({ credentials })
  throw new Refusal(
    'moving',
    `This cell takes no new organisations; ${other === undefined ? 'no' : 'another'} one does`,
  )
}

/**
 * Before the repository is made: of all cells, one alone gets an organisation of that id. A claim that a crash has left is
 * taken up by any process of its cell, whose folder decides between them.
 *
 * @throws GitError repo_exists: another cell has it, or it is here, or was deleted; Refusal storage_readonly
 */
export async function claimPlace({ cell, credentials }: Directory, orgId: string): Promise<void> {
  if (cell === undefined) return
  cell.lease.before()
  const isClaimed = await credentials.write(
    async (trx) =>
      (await insertPlaces(trx, cell.name, [orgId], 'making')) === 1 || (await renewClaim(trx, cell.name, orgId)),
  )
  if (!isClaimed) throw new GitError('repo_exists', 'An organisation of this id exists, or did')
}

/** After the folder has its name. @throws DatabaseFault; Refusal outcome_unknown: the directory has it elsewhere */
export async function keepPlace(deps: Directory, orgId: string): Promise<void> {
  await declare(deps, orgId, 'here')
}

/** After the folder is in the trash; the row stays. @throws as keepPlace */
export async function leavePlace(deps: Directory, orgId: string): Promise<void> {
  await declare(deps, orgId, 'gone')
}

async function declare({ cell, credentials }: Directory, orgId: string, state: PlaceRow['state']): Promise<void> {
  if (cell === undefined) return
  if (!(await credentials.write((trx) => setPlaceState(trx, cell.name, orgId, state))))
    throw new Refusal(
      'outcome_unknown',
      'The change is made, but the directory of cells has the organisation elsewhere',
    )
}
