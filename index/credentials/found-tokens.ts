/** Finds tokens of any kind, for the operator. Each function runs one statement. */
import { sql } from 'kysely'
import type { AccessToken, CredentialsDb } from './schema.ts'

export interface FoundToken {
  readonly kind: 'token' | 'session' | 'connection' | 'feed' | 'reset' | 'mail' | 'invitation'
  /** Names the row that ends it. A feed has the account, and a mailed token its hash. */
  readonly id: string
  /** Null for an invitation. */
  readonly account_id: string | null
  /** The name that its user or its program gave it. */
  readonly label: string | null
  readonly access: AccessToken['access'] | null
  readonly last_used_at: string | null
}

/** Finds personal access tokens by id, or by the last four characters of their secret. */
export async function findAccessTokensBy(
  db: CredentialsDb,
  column: 'id' | 'hint',
  value: string,
): Promise<FoundToken[]> {
  const rows = await db
    .selectFrom('access_token')
    .select(['id', 'account_id', 'name as label', 'access', 'last_used_at'])
    .where(column, '=', value)
    .orderBy('created_at')
    .execute()
  return rows.map((row) => ({ kind: 'token', ...row }))
}

/** Finds the valid token with this hash, or the open session with this id. */
export async function findToken(
  db: CredentialsDb,
  { hash = '', sessionId = '' }: { readonly hash?: string; readonly sessionId?: string },
  now: string,
): Promise<FoundToken | undefined> {
  const { rows } = await sql<FoundToken>`
    select 'token' as kind, id, account_id, name as label, access, last_used_at from access_token where hash = ${hash}
    union all
    select 'session', id, account_id, user_agent, null, last_used_at from session where revoked_at is null
      and (id = ${sessionId} or cookie_hash = ${hash}
        or id in (select session_id from refresh_token where hash = ${hash}))
    union all
    select 'connection', id, account_id, client_name, access, last_used_at from oauth_grant
      where id in (select grant_id from oauth_token where hash = ${hash})
        or id in (select grant_id from oauth_code where hash = ${hash})
    union all
    select 'feed', account_id, account_id, null, null, null from feed_token where hash = ${hash}
    union all
    select 'reset', hash, account_id, null, null, null from reset_token
      where hash = ${hash} and used_at is null and expires_at > ${now}
    union all
    select 'mail', hash, account_id, kind, null, null from email_token
      where hash = ${hash} and used_at is null and expires_at > ${now}
    union all
    select 'invitation', id, null, role, null, null from invitation
      where hash = ${hash} and uses_left > 0 and expires_at > ${now}
  `.execute(db)
  return rows[0]
}
