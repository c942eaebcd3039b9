/** Rows about one user, for an export of personal data. Each function runs one statement. */
import { sql } from 'kysely'
import type { CredentialsDb, CredentialsSchema } from './schema.ts'

/** The column that names the user, of each table with rows about users. */
const columns = {
  account: 'id',
  session: 'account_id',
  access_token: 'account_id',
  oauth_grant: 'account_id',
  identity: 'account_id',
  account_address: 'account_id',
  org_member: 'user_id',
  pending_membership: 'account_id',
  follow: 'account_id',
  inbox_mark: 'account_id',
  read_mark: 'account_id',
  feed_token: 'account_id',
  email_token: 'account_id',
  reset_token: 'account_id',
  digest_turn: 'account_id',
  mail: 'account_id',
  invitation: 'created_by',
  invitation_use: 'account_id',
  webhook: 'created_by',
} as const satisfies Partial<Record<keyof CredentialsSchema, string>>

type PersonalTable = keyof typeof columns

export const personalTables = Object.keys(columns) as PersonalTable[] // its only keys

/** Columns that would let a reader act for the user or for an organisation. */
const secrets: ReadonlySet<string> = new Set([
  'hash',
  'password_hash',
  'cookie_hash',
  'successor',
  'secret_sealed',
  'previous_sealed',
])

/** Lists the rows of a table about a user, without secrets and without nulls. */
export async function listPersonalRows(
  db: CredentialsDb,
  table: PersonalTable,
  accountId: string,
): Promise<Record<string, unknown>[]> {
  const { rows } = await sql<Record<string, unknown>>`
    select * from ${sql.table(table)} where ${sql.ref(columns[table])} = ${accountId}`.execute(db)
  return rows.map((row) =>
    Object.fromEntries(Object.entries(row).filter(([column, value]) => value !== null && !secrets.has(column))),
  )
}
