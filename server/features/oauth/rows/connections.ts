/** Queries for connections: grants, codes and tokens of OAuth. Each function runs one statement. */

import type { ExpressionBuilder } from 'kysely'
import type {
  CredentialsDb,
  CredentialsSchema,
  OauthAssertion,
  OauthClient,
  OauthCode,
  OauthGrant,
  OauthToken,
} from '../../../../index/credentials/schema.ts'
import { type Slice, totalOf } from '../../../../index/slice.ts'
import { compileOnce } from '../../../../index/sqlite/compiled.ts'

export async function insertGrant(db: CredentialsDb, grant: OauthGrant): Promise<void> {
  await db.insertInto('oauth_grant').values(grant).execute()
}

/** Returns the grant of a code, without a lock. */
export function findGrantOfCode(db: CredentialsDb, hash: string): Promise<OauthGrant | undefined> {
  return grantOfCode(db, hash).executeTakeFirst()
}

/**
 * Returns the grant of a code, and locks it. Other transactions then wait before they check its codes and tokens, or
 * end it.
 */
export function lockGrantOfCode(trx: CredentialsDb, hash: string): Promise<OauthGrant | undefined> {
  return grantOfCode(trx, hash).forUpdate().executeTakeFirst()
}

function grantOfCode(db: CredentialsDb, hash: string) {
  return db
    .selectFrom('oauth_grant')
    .selectAll()
    .where('id', '=', (eb) => eb.selectFrom('oauth_code').select('grant_id').where('hash', '=', hash))
}

/** Returns the grant of a token, and locks it, as `lockGrantOfCode` does. */
export function lockGrantOfToken(trx: CredentialsDb, hash: string): Promise<OauthGrant | undefined> {
  return trx
    .selectFrom('oauth_grant')
    .selectAll()
    .where('id', '=', (eb) => eb.selectFrom('oauth_token').select('grant_id').where('hash', '=', hash))
    .forUpdate()
    .executeTakeFirst()
}

export async function insertCode(db: CredentialsDb, code: OauthCode): Promise<void> {
  await db.insertInto('oauth_code').values(code).execute()
}

export function findCode(db: CredentialsDb, hash: string): Promise<OauthCode | undefined> {
  return db.selectFrom('oauth_code').selectAll().where('hash', '=', hash).executeTakeFirst()
}

export async function setCodeUsed(db: CredentialsDb, hash: string, used_at: string): Promise<void> {
  await db.updateTable('oauth_code').set({ used_at }).where('hash', '=', hash).execute()
}

export async function insertOauthTokens(db: CredentialsDb, tokens: readonly OauthToken[]): Promise<void> {
  await db.insertInto('oauth_token').values(tokens).execute()
}

export function findOauthToken(db: CredentialsDb, hash: string): Promise<OauthToken | undefined> {
  return db.selectFrom('oauth_token').selectAll().where('hash', '=', hash).executeTakeFirst()
}

export async function setOauthTokenUsed(
  db: CredentialsDb,
  hash: string,
  used_at: string,
  successor: string,
): Promise<void> {
  await db.updateTable('oauth_token').set({ used_at, successor }).where('hash', '=', hash).execute()
}

export async function deleteOauthToken(db: CredentialsDb, hash: string): Promise<void> {
  await db.deleteFrom('oauth_token').where('hash', '=', hash).execute()
}

/** Sets how the client must authenticate for the rest of the connection. */
export async function setGrantMethod(db: CredentialsDb, id: string, method: OauthGrant['method']): Promise<void> {
  await db.updateTable('oauth_grant').set({ method }).where('id', '=', id).execute()
}

/** Remembers that an assertion was used. Returns false if it was used before. */
export async function insertAssertion(db: CredentialsDb, assertion: OauthAssertion): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('oauth_assertion')
    .values(assertion)
    .onConflict((conflict) => conflict.column('hash').doNothing())
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === 1n
}

export async function deleteExpiredAssertions(db: CredentialsDb, now: string): Promise<void> {
  await db.deleteFrom('oauth_assertion').where('expires_at', '<=', now).execute()
}

/** Lists the account's connections that a program can still use, newest first. */
export function listGrants(
  db: CredentialsDb,
  accountId: string,
  now: string,
  { limit, offset }: Slice,
): Promise<OauthGrant[]> {
  return liveGrants(db, accountId, now)
    .selectAll('oauth_grant')
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .offset(offset)
    .execute()
}

export function countGrants(db: CredentialsDb, accountId: string, now: string): Promise<number> {
  return totalOf(liveGrants(db, accountId, now))
}

/** Returns the account's connection that was unused for the longest time. */
export function findIdlestGrant(
  db: CredentialsDb,
  accountId: string,
): Promise<Pick<OauthGrant, 'id' | 'client_id' | 'created_at' | 'last_used_at'> | undefined> {
  return db
    .selectFrom('oauth_grant')
    .select(['id', 'client_id', 'created_at', 'last_used_at'])
    .where('account_id', '=', accountId)
    .orderBy(({ fn }) => fn.coalesce('last_used_at', 'created_at'))
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()
}

/** Returns when the account last connected the client. Undefined: it has no such connection. */
export async function findLastConnected(
  db: CredentialsDb,
  accountId: string,
  clientId: string,
): Promise<string | undefined> {
  const row = await db
    .selectFrom('oauth_grant')
    .select('created_at')
    .where('account_id', '=', accountId)
    .where('client_id', '=', clientId)
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.created_at
}

/** Deletes the account's connections that no program can use any more. */
export async function deleteDeadGrantsOf(db: CredentialsDb, accountId: string, now: string): Promise<void> {
  await db
    .deleteFrom('oauth_grant')
    .where('account_id', '=', accountId)
    .where((eb) => eb.not(isLive(eb, now)))
    .execute()
}

/** Deletes the connections of all accounts that no program can use any more. */
export async function deleteDeadGrants(db: CredentialsDb, now: string): Promise<void> {
  await db
    .deleteFrom('oauth_grant')
    .where((eb) => eb.not(isLive(eb, now)))
    .execute()
}

export async function deleteExpiredOauthTokens(db: CredentialsDb, now: string): Promise<void> {
  await db.deleteFrom('oauth_token').where('expires_at', '<=', now).execute()
}

/** Deletes codes that expired before `until`. */
export async function deleteExpiredCodes(db: CredentialsDb, until: string): Promise<void> {
  await db.deleteFrom('oauth_code').where('expires_at', '<=', until).execute()
}

/** True if any user has connected the program. */
export async function hasGrantOfClient(db: CredentialsDb, clientId: string): Promise<boolean> {
  return (await grantByClient(db, clientId)).length > 0
}

const grantByClient = compileOnce(1, (db: CredentialsDb, clientId: string) =>
  db.selectFrom('oauth_grant').select('id').where('client_id', '=', clientId).limit(1),
)

export function findOauthClient(db: CredentialsDb, id: string): Promise<OauthClient | undefined> {
  return db.selectFrom('oauth_client').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Stores a document instead of an older one. */
export async function putOauthClient(db: CredentialsDb, client: OauthClient): Promise<void> {
  const { id: _, ...changed } = client
  await db
    .insertInto('oauth_client')
    .values(client)
    .onConflict((conflict) => conflict.column('id').doUpdateSet(changed))
    .execute()
}

/** Deletes documents that were last fresh before `until`. The documents of connected programs stay. */
export async function deleteOldOauthClients(db: CredentialsDb, until: string): Promise<void> {
  await db
    .deleteFrom('oauth_client')
    .where('fresh_until', '<=', until)
    .where('id', 'not in', (eb) => eb.selectFrom('oauth_grant').select('client_id'))
    .execute()
}

function liveGrants(db: CredentialsDb, accountId: string, now: string) {
  return db
    .selectFrom('oauth_grant')
    .where('account_id', '=', accountId)
    .where((eb) => isLive(eb, now))
}

/** True if a token or an unused code of the grant is valid. */
function isLive({ or, exists, selectFrom }: ExpressionBuilder<CredentialsSchema, 'oauth_grant'>, now: string) {
  return or([
    exists(
      selectFrom('oauth_token')
        .select('hash')
        .whereRef('oauth_token.grant_id', '=', 'oauth_grant.id')
        .where('oauth_token.expires_at', '>', now),
    ),
    exists(
      selectFrom('oauth_code')
        .select('hash')
        .whereRef('oauth_code.grant_id', '=', 'oauth_grant.id')
        .where('oauth_code.expires_at', '>', now)
        .where('oauth_code.used_at', 'is', null),
    ),
  ])
}
