/** Notes about users who are about to move refs. These are hints: a lost one makes an event without an actor, never a wrong event. */
import type { Transaction } from 'kysely'
import { changeNow, readRows } from '../sqlite/statements.ts'
import type { LogDb, LogSchema } from './schema.ts'

export interface Intent {
  readonly node_id: string
  readonly ref: string
  /** Empty: the ref is deleted. */
  readonly to_oid: string
  /** JSON. */
  readonly actor: string
  readonly via: string
  readonly origin: string | null
}

/** Writes intents. An intent for the same move replaces the earlier one. */
export function putIntents(trx: Transaction<LogSchema>, intents: readonly Intent[], now: Date): void {
  changeNow(trx, put, now.getTime(), JSON.stringify(intents))
}

const put = `insert or replace into intent (at, node_id, ref, to_oid, actor, via, origin)
  select ?, value ->> 'node_id', value ->> 'ref', value ->> 'to_oid', value ->> 'actor', value ->> 'via',
    value ->> 'origin' from json_each(?)`

/** Deletes up to `limit` intents of before this time. Returns true if none is left. */
export async function deleteIntentsBefore(trx: Transaction<LogSchema>, ms: number, limit: number): Promise<boolean> {
  const old = await trx
    .selectFrom('intent')
    .select(['node_id', 'ref', 'to_oid'])
    .where('at', '<', ms)
    .limit(limit)
    .execute()
  for (const { node_id, ref, to_oid } of old)
    await trx
      .deleteFrom('intent')
      .where('node_id', '=', node_id)
      .where('ref', '=', ref)
      .where('to_oid', '=', to_oid)
      .execute()
  return old.length < limit
}

/** Finds the intents of moves to these objects. */
export async function findIntents(db: LogDb, nodeId: string, oids: readonly string[]): Promise<Intent[]> {
  return readRows<Intent>(
    db,
    'select * from intent where node_id = ? and to_oid in (select value from json_each(?))',
    nodeId,
    JSON.stringify(oids),
  )
}

/** Finds the intents of these moves. */
export async function findIntentsOf(
  db: LogDb,
  moves: readonly Pick<Intent, 'node_id' | 'ref' | 'to_oid'>[],
): Promise<Intent[]> {
  return readRows<Intent>(
    db,
    `select intent.* from json_each(?) as move join intent
      on node_id = move.value ->> 'node_id' and ref = move.value ->> 'ref' and to_oid = move.value ->> 'to_oid'`,
    JSON.stringify(moves),
  )
}
