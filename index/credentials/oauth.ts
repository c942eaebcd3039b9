/** Checks, lists and ends connections by OAuth. Each function runs one statement. */

import { compileOnce } from '../sqlite/compiled.ts'
import type { CredentialsDb, OauthGrant, OauthToken } from './schema.ts'

/** True if the grant exists, which means that the connection has not ended. */
export async function hasGrant(db: CredentialsDb, id: string): Promise<boolean> {
  return (await grantById(db, id)).length > 0
}

const grantById = compileOnce(1, (db: CredentialsDb, id: string) =>
  db.selectFrom('oauth_grant').select('id').where('id', '=', id),
)

/** A token with the grant to which it belongs. */
export type GrantedToken = OauthGrant & Pick<OauthToken, 'kind' | 'expires_at'>

/** Every request of a connection runs this query. */
export async function findGrantOfToken(db: CredentialsDb, hash: string): Promise<GrantedToken | undefined> {
  return (await grantByToken(db, hash))[0]
}

const grantByToken = compileOnce(1, (db: CredentialsDb, hash: string) =>
  db
    .selectFrom('oauth_token')
    .innerJoin('oauth_grant', 'oauth_grant.id', 'oauth_token.grant_id')
    .selectAll('oauth_grant')
    .select(['oauth_token.kind', 'oauth_token.expires_at'])
    .where('oauth_token.hash', '=', hash),
)

export async function setGrantUsed(db: CredentialsDb, id: string, last_used_at: string): Promise<void> {
  await db.updateTable('oauth_grant').set({ last_used_at }).where('id', '=', id).execute()
}

/** Ends a connection. Returns false if there is no such one. @param accountId undefined: of any account */
export async function deleteGrant(db: CredentialsDb, id: string, accountId?: string): Promise<boolean> {
  const grant = db.deleteFrom('oauth_grant').where('id', '=', id)
  const { numDeletedRows } = await (accountId === undefined
    ? grant
    : grant.where('account_id', '=', accountId)
  ).executeTakeFirstOrThrow()
  return numDeletedRows === 1n
}

/** Lists the programs that are connected, with the number of their connections. */
export function listConnectedClients(
  db: CredentialsDb,
): Promise<{ client_id: string; client_name: string; connections: number }[]> {
  return db
    .selectFrom('oauth_grant')
    .select(({ fn }) => ['client_id', 'client_name', fn.countAll<number>().as('connections')])
    .groupBy(['client_id', 'client_name'])
    .orderBy('client_name')
    .orderBy('client_id')
    .execute()
}

/** Ends all connections of a program. Returns them. */
export function deleteGrantsOfClient(
  db: CredentialsDb,
  clientId: string,
): Promise<Pick<OauthGrant, 'id' | 'account_id'>[]> {
  return db.deleteFrom('oauth_grant').where('client_id', '=', clientId).returning(['id', 'account_id']).execute()
}

/** Ends all connections of the account. */
export async function deleteGrants(db: CredentialsDb, accountId: string): Promise<void> {
  await db.deleteFrom('oauth_grant').where('account_id', '=', accountId).execute()
}
