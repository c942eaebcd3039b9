/** Queries for bots: accounts that an organisation owns. Each function runs one statement. */
import { type Slice, totalOf } from '../slice.ts'
import type { Account, CredentialsDb } from './schema.ts'

/** Locks an organisation's bots, so that two processes do not exceed their number together. */
export async function lockBotsOf(trx: CredentialsDb, orgId: string): Promise<void> {
  await botsOf(trx, orgId).select('id').orderBy('created_at').orderBy('id').limit(1).forUpdate().execute()
}

export function countBots(db: CredentialsDb, orgId: string): Promise<number> {
  return totalOf(botsOf(db, orgId))
}

/** Lists an organisation's bots, oldest first. */
export function listBotRows(db: CredentialsDb, orgId: string, { limit, offset }: Slice): Promise<Account[]> {
  return botsOf(db, orgId).selectAll().orderBy('created_at').orderBy('id').limit(limit).offset(offset).execute()
}

export function findBot(db: CredentialsDb, orgId: string, id: string): Promise<Account | undefined> {
  return botsOf(db, orgId).selectAll().where('id', '=', id).executeTakeFirst()
}

/** Returns the bot and locks its row against other transactions. */
export function lockBot(trx: CredentialsDb, orgId: string, id: string): Promise<Account | undefined> {
  return botsOf(trx, orgId).selectAll().where('id', '=', id).forUpdate().executeTakeFirst()
}

/** Deletes and returns the tokens of bots. They are bots of the organisations, and those that `creator` created. */
export function deleteBotTokensOf(trx: CredentialsDb, orgIds: readonly string[], creator: string) {
  const bots = trx
    .selectFrom('account')
    .select('id')
    .where('kind', '=', 'bot')
    .where(({ eb, or }) =>
      or([eb('created_by', '=', creator), ...(orgIds.length > 0 ? [eb('owner_org_id', 'in', orgIds)] : [])]),
    )
  return trx
    .deleteFrom('access_token')
    .where('account_id', 'in', bots)
    .returning(['id', 'account_id', 'org_id'])
    .execute()
}

function botsOf(db: CredentialsDb, orgId: string) {
  return db.selectFrom('account').where('kind', '=', 'bot').where('owner_org_id', '=', orgId)
}
