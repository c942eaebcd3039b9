/** Queries for memberships that org.git does not have yet. Each function runs one statement. */
import type { CredentialsDb, PendingMembership } from './schema.ts'

/** Inserts a pending membership. The account must not have one in this organisation. */
export async function insertPendingMembership(db: CredentialsDb, pending: PendingMembership): Promise<void> {
  await db.insertInto('pending_membership').values(pending).execute()
}

export function findPendingMembership(
  db: CredentialsDb,
  accountId: string,
  orgId: string,
): Promise<PendingMembership | undefined> {
  return db
    .selectFrom('pending_membership')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('org_id', '=', orgId)
    .executeTakeFirst()
}

export function listPendingMembershipsOf(db: CredentialsDb, accountId: string): Promise<PendingMembership[]> {
  return db.selectFrom('pending_membership').selectAll().where('account_id', '=', accountId).execute()
}

/** Lists the pending memberships of all accounts, oldest first. */
export function listPendingMemberships(db: CredentialsDb, limit: number): Promise<PendingMembership[]> {
  return db.selectFrom('pending_membership').selectAll().orderBy('created_at').limit(limit).execute()
}

/** Deletes the account's pending membership in the organisation, if there is one. */
export async function deletePendingMembershipIn(db: CredentialsDb, accountId: string, orgId: string): Promise<void> {
  await db.deleteFrom('pending_membership').where('account_id', '=', accountId).where('org_id', '=', orgId).execute()
}

/** Deletes what waits by invitations of this account. */
export async function deletePendingMembershipsBy(db: CredentialsDb, accountId: string): Promise<void> {
  await db.deleteFrom('pending_membership').where('invited_by', '=', accountId).execute()
}

/** Deletes exactly this row, not a later one of the same account and organisation. */
export async function deletePendingMembership(db: CredentialsDb, pending: PendingMembership): Promise<void> {
  await db
    .deleteFrom('pending_membership')
    .where('account_id', '=', pending.account_id)
    .where('org_id', '=', pending.org_id)
    .where('role', '=', pending.role)
    .where('created_at', '=', pending.created_at)
    .execute()
}
