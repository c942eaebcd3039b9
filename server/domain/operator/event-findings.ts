/** Checks the database of events, and that the chain of each log holds. */
import { join } from 'node:path'
import { lexists } from '../../../gitstore/fs-exists.ts'
import { findBrokenChains } from '../../../index/log/chain-check.ts'
import { findDatabaseDamage } from '../../../index/sqlite/backup.ts'
import { eventsFile } from '../layout.ts'
import { damageFinding, type Finding } from './repository-findings.ts'

const begins = 'the next start begins the logs and the audit again'

/** Examines `events.sqlite`. An edited event is a fault: somebody has changed what happened. */
export function examineEvents(root: string): Finding[] {
  const file = join(root, eventsFile)
  if (!lexists(file)) return [{ ...damageFinding('database', eventsFile, `is missing; ${begins}`), kind: 'note' }]
  try {
    const damage = findDatabaseDamage(file)
    if (damage !== undefined) return [damageFinding('database', eventsFile, `${damage}; ${begins}`)]
    return findBrokenChains(file).map(({ orgId, reason }) =>
      damageFinding('events', eventsFile, `the log of ${orgId} ${reason}`),
    )
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return [damageFinding('database', eventsFile, `cannot be read: ${reason}`)]
  }
}
