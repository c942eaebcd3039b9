/** Turns webhooks off with the account that created them. */
import type { CredentialsDb, Webhook } from './schema.ts'

/** Turns off the webhooks of the organisations, and those of `user`. Returns those that were on. */
export function turnWebhooksOff(trx: CredentialsDb, orgIds: readonly string[], user: string): Promise<Webhook[]> {
  const on = trx.updateTable('webhook').set({ active: 0 }).where('active', '=', 1)
  return on
    .where(({ eb, or }) => {
      // Another owner may answer for a webhook since, and its URL is still the one that `user` gave it.
      const own = [eb('kept_by', '=', user), eb('created_by', '=', user)]
      return or([...own, ...(orgIds.length > 0 ? [eb('org_id', 'in', orgIds)] : [])])
    })
    .returningAll()
    .execute()
}
