/** Queries for identities at other services, and for their logout tokens. Each function runs one statement. */

import { type Slice, totalOf } from '../slice.ts'
import type { CredentialsDb, Identity } from './schema.ts'

export function findIdentity(db: CredentialsDb, issuer: string, subject: string): Promise<Identity | undefined> {
  return db
    .selectFrom('identity')
    .selectAll()
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .executeTakeFirst()
}

export function findIdentityOf(db: CredentialsDb, accountId: string, id: string): Promise<Identity | undefined> {
  return db
    .selectFrom('identity')
    .selectAll()
    .where('id', '=', id)
    .where('account_id', '=', accountId)
    .executeTakeFirst()
}

/** Returns the identity that opened the session. */
export function findIdentityOfSession(db: CredentialsDb, sessionId: string): Promise<Identity | undefined> {
  return db
    .selectFrom('identity')
    .innerJoin('session', 'session.identity_id', 'identity.id')
    .selectAll('identity')
    .where('session.id', '=', sessionId)
    .executeTakeFirst()
}

/** Lists the identities of an account, oldest first. */
export function listIdentities(db: CredentialsDb, accountId: string, { limit, offset }: Slice): Promise<Identity[]> {
  return db
    .selectFrom('identity')
    .selectAll()
    .where('account_id', '=', accountId)
    .orderBy('created_at')
    .orderBy('id')
    .limit(limit)
    .offset(offset)
    .execute()
}

export function countIdentities(db: CredentialsDb, accountId: string): Promise<number> {
  return totalOf(db.selectFrom('identity').where('account_id', '=', accountId))
}

/** True if the account has an identity of the issuer, of any subject. */
export async function hasIdentityOf(db: CredentialsDb, accountId: string, issuer: string): Promise<boolean> {
  return (await totalOf(db.selectFrom('identity').where('account_id', '=', accountId).where('issuer', '=', issuer))) > 0
}

/** Returns false if the subject has an identity already. */
export async function insertIdentity(db: CredentialsDb, identity: Identity): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('identity')
    .values(identity)
    .onConflict((conflict) => conflict.columns(['issuer', 'subject']).doNothing())
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === 1n
}

/** Records a pass of the provider. Returns false if the identity is gone. */
export async function setIdentityPassed(
  db: CredentialsDb,
  id: string,
  passed: Pick<Identity, 'provider' | 'confirmed_at'> & Partial<Pick<Identity, 'email'>>,
): Promise<boolean> {
  const { numUpdatedRows } = await db.updateTable('identity').set(passed).where('id', '=', id).executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}

export async function deleteIdentity(db: CredentialsDb, id: string): Promise<void> {
  await db.deleteFrom('identity').where('id', '=', id).execute()
}

export async function deleteIdentitiesOf(db: CredentialsDb, accountId: string): Promise<void> {
  await db.deleteFrom('identity').where('account_id', '=', accountId).execute()
}

/** Remembers that a logout token was used. Returns false if it was used before. */
export async function insertLogoutToken(db: CredentialsDb, hash: string, used_at: string): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('logout_token')
    .values({ hash, used_at })
    .onConflict((conflict) => conflict.column('hash').doNothing())
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === 1n
}

export async function deleteLogoutTokensUntil(db: CredentialsDb, time: string): Promise<void> {
  await db.deleteFrom('logout_token').where('used_at', '<', time).execute()
}
