/** Notes about users who are about to move refs. These are hints: a lost one makes an event without an actor, never a wrong event. */
import type { Transaction } from 'kysely'
import type { LogDb, LogSchema } from './schema.ts'

export interface Intent {
  readonly node_id: string
  readonly ref: string
  /** Empty: the ref is deleted. */
  readonly to_oid: string
  /** JSON. */
  readonly actor: string
  readonly via: string
  readonly request_id: string | null
}

/** Writes intents. An intent for the same move replaces the earlier one. */
export async function putIntents(trx: Transaction<LogSchema>, intents: readonly Intent[], now: Date): Promise<void> {
  for (const intent of intents)
    await trx
      .insertInto('intent')
      .values({ ...intent, at: now.getTime() })
      .onConflict((conflict) =>
        conflict.columns(['node_id', 'ref', 'to_oid']).doUpdateSet({ ...intent, at: now.getTime() }),
      )
      .execute()
}

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
  const found: Intent[] = []
  for (let at = 0; at < oids.length; at += oidsAtOnce)
    found.push(
      ...(await db
        .selectFrom('intent')
        .select(['node_id', 'ref', 'to_oid', 'actor', 'via', 'request_id'])
        .where('node_id', '=', nodeId)
        .where('to_oid', 'in', oids.slice(at, at + oidsAtOnce))
        .execute()),
    )
  return found
}

const oidsAtOnce = 500
