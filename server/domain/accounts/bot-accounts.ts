/** The accounts of bots, which an organisation owns. */
import { v7 as newId } from 'uuid'
import { deleteAccount, insertDeletedAccount } from '../../../index/credentials/accounts.ts'
import { listBotRows } from '../../../index/credentials/bots.ts'
import type { NewAccountRow } from '../../../index/credentials/schema.ts'
import * as limits from '../../base/limits.ts'
import { botEmail } from '../format/bots.ts'
import type { Services } from '../services.ts'
import type { OrgAt } from '../targets.ts'
import { noPassword } from './passwords.ts'

/** Returns the row of a bot's account. It never gets a personal organisation. */
export function botRow(
  { org_id: orgId }: OrgAt,
  name: string,
  { id = newId(), created_at, created_by }: { readonly id?: string; created_at: string; created_by: string | null },
): Omit<NewAccountRow, 'email_key'> {
  const owned = { kind: 'bot' as const, owner_org_id: orgId, created_by }
  return { id, email: botEmail(id), name, password_hash: noPassword, created_at, org_id: newId(), ...owned }
}

/** Deletes the bots of an organisation that is gone for good. Their memberships went with it. */
export async function deleteBotsOf(deps: Services, at: OrgAt): Promise<void> {
  for (const { id } of await listBotRows(deps.credentials.read, at.org_id, { limit: limits.bots, offset: 0 }))
    await deps.credentials.write(async (trx) => {
      await insertDeletedAccount(trx, id, deps.now().toISOString())
      await deleteAccount(trx, id)
    })
}
