/** The webhooks of organisations. */
import type { CredentialsDb, Webhook } from '../../../../index/credentials/schema.ts'

/** Locks an organisation's webhooks, so that two processes do not exceed their number together. */
export async function lockWebhooksOf(trx: CredentialsDb, orgId: string): Promise<void> {
  await trx
    .selectFrom('webhook')
    .select('id')
    .where('org_id', '=', orgId)
    .orderBy('created_at')
    .orderBy('id')
    .limit(1)
    .forUpdate()
    .execute()
}

export async function insertWebhook(trx: CredentialsDb, row: Webhook): Promise<void> {
  await trx.insertInto('webhook').values(row).execute()
}

/** @param nodeId counts only the webhooks of this node */
export async function countWebhooks(db: CredentialsDb, orgId: string, nodeId?: string): Promise<number> {
  let query = db
    .selectFrom('webhook')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('org_id', '=', orgId)
  if (nodeId !== undefined) query = query.where('node_id', '=', nodeId)
  return Number((await query.executeTakeFirstOrThrow()).count)
}

/** Lists an organisation's webhooks, oldest first. @param nodeId lists only the webhooks of this node */
export async function listWebhookRows(
  db: CredentialsDb,
  orgId: string,
  { limit, offset, nodeId }: { readonly limit: number; readonly offset: number; readonly nodeId?: string },
): Promise<Webhook[]> {
  let query = db.selectFrom('webhook').selectAll().where('org_id', '=', orgId)
  if (nodeId !== undefined) query = query.where('node_id', '=', nodeId)
  return query.orderBy('created_at').orderBy('id').limit(limit).offset(offset).execute()
}

/** Lists the webhooks of all organisations in the order of their ids. */
export async function listWebhooksAfter(db: CredentialsDb, id: string, limit: number): Promise<Webhook[]> {
  return db.selectFrom('webhook').selectAll().where('id', '>', id).orderBy('id').limit(limit).execute()
}

export async function findWebhooks(db: CredentialsDb, ids: readonly string[]): Promise<Map<string, Webhook>> {
  if (ids.length === 0) return new Map()
  const rows = await db.selectFrom('webhook').selectAll().where('id', 'in', ids).execute()
  return new Map(rows.map((row) => [row.id, row]))
}

export type WebhookChange = Partial<Omit<Webhook, 'id' | 'org_id' | 'created_by' | 'created_at'>>

/** Returns the changed webhook; undefined if it is gone. */
export async function updateWebhookRow(
  trx: CredentialsDb,
  id: string,
  change: WebhookChange,
): Promise<Webhook | undefined> {
  if (Object.keys(change).length > 0) await trx.updateTable('webhook').set(change).where('id', '=', id).execute()
  return trx.selectFrom('webhook').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Returns false if it was gone. */
export async function deleteWebhookRow(trx: CredentialsDb, id: string): Promise<boolean> {
  const { numDeletedRows } = await trx.deleteFrom('webhook').where('id', '=', id).executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}
