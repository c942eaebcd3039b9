/** Positions in logs: bases, ends, and whether a log still has one. */
import type { Position } from './chain.ts'
import type { Log } from './events.ts'
import type { LogDb } from './schema.ts'

/** The position before the oldest event that is kept. */
export function baseOf({ base_seq, base_chain }: Log): Position {
  return { seq: base_seq, chain: base_chain }
}

/** True if the log contains this position, or begins after it. */
export async function hasPosition(db: LogDb, log: Log, { seq, chain }: Position): Promise<boolean> {
  if (seq === log.base_seq) return chain === log.base_chain
  if (seq < log.base_seq || seq > log.seq) return false
  if (seq === log.seq) return chain === log.chain
  return (await findPosition(db, log.org_id, seq))?.chain === chain
}

/** Returns the position of a number; undefined if its event is gone. */
export async function findPosition(db: LogDb, orgId: string, seq: number): Promise<Position | undefined> {
  return db
    .selectFrom('event')
    .select(['seq', 'chain'])
    .where('org_id', '=', orgId)
    .where('seq', '=', seq)
    .executeTakeFirst()
}

/** The most organisations that one statement names. */
const orgsAtOnce = 500

/** Returns the chain value at the end of each log. An organisation without a log is left out. */
export async function listChains(db: LogDb, orgIds: readonly string[]): Promise<Map<string, string>> {
  const chains = new Map<string, string>()
  for (let at = 0; at < orgIds.length; at += orgsAtOnce) {
    const some = orgIds.slice(at, at + orgsAtOnce)
    const rows = await db.selectFrom('log').select(['org_id', 'chain']).where('org_id', 'in', some).execute()
    for (const { org_id, chain } of rows) chains.set(org_id, chain)
  }
  return chains
}
