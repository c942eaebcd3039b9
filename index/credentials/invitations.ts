/** Queries for invitations. Each function runs one statement. */
import type { ExpressionBuilder, NotNull } from 'kysely'
import { type Slice, totalOf } from '../slice.ts'
import type { CredentialsDb, CredentialsSchema, Invitation, OrgInvitation } from './schema.ts'

/** Finds an invitation, even one that has ended. */
export function findInvitation(db: CredentialsDb, hash: string): Promise<Invitation | undefined> {
  return db.selectFrom('invitation').selectAll().where('hash', '=', hash).executeTakeFirst()
}

/** Finds an invitation, even one that has ended. */
export function findInvitationById(db: CredentialsDb, id: string): Promise<Invitation | undefined> {
  return db.selectFrom('invitation').selectAll().where('id', '=', id).executeTakeFirst()
}

export async function insertInvitation(db: CredentialsDb, invitation: Invitation): Promise<void> {
  await db.insertInto('invitation').values(invitation).execute()
}

/** Takes one of the invitation's uses. Returns false if it has ended or was deleted. */
export async function useInvitation(db: CredentialsDb, id: string, now: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('invitation')
    .set((eb) => ({ uses_left: eb('uses_left', '-', 1) }))
    .where('id', '=', id)
    .where(isOpen(now))
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}

/** Records a use. Returns false if the account has used the invitation or may not use it. The invitation must exist. */
export async function insertInvitationUse(
  db: CredentialsDb,
  invitation_id: string,
  account_id: string,
  used_at: string,
): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('invitation_use')
    .values({ invitation_id, account_id, used_at })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === 1n
}

/** Ends every invitation of the organisation for this account, as if used. */
export async function insertUsesOfAll(db: CredentialsDb, orgId: string, accountId: string, now: string): Promise<void> {
  await db
    .insertInto('invitation_use')
    .columns(['invitation_id', 'account_id', 'used_at'])
    .expression(({ selectFrom, val }) =>
      selectFrom('invitation')
        .select(['id', val(accountId).as('account_id'), val(now).as('used_at')])
        .where('org_id', '=', orgId),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** Deletes all invitations that this account has created, and returns their organisations. */
export function deleteAllInvitationsBy(db: CredentialsDb, accountId: string) {
  return db.deleteFrom('invitation').where('created_by', '=', accountId).returning(['id', 'org_id']).execute()
}

/** Deletes the invitations to the organisation that this account has created. */
export async function deleteInvitationsBy(db: CredentialsDb, orgId: string, accountId: string): Promise<void> {
  await db.deleteFrom('invitation').where('org_id', '=', orgId).where('created_by', '=', accountId).execute()
}

/**
 * Locks the organisation's oldest invitation, so that transactions that count and insert take turns. They do not wait
 * for each other while there is no invitation, or while the oldest one is being deleted.
 */
export async function lockInvitationsOf(trx: CredentialsDb, orgId: string): Promise<void> {
  await trx
    .selectFrom('invitation')
    .select('id')
    .where('org_id', '=', orgId)
    .orderBy('created_at')
    .orderBy('id')
    .limit(1)
    .forUpdate()
    .execute()
}

/** Lists the organisation's invitations that have not ended, oldest first. */
export function listOpenInvitations(
  db: CredentialsDb,
  orgId: string,
  now: string,
  { limit, offset }: Slice,
): Promise<OrgInvitation[]> {
  return openInvitationsOf(db, orgId, now)
    .selectAll()
    .$narrowType<{ role: NotNull }>()
    .orderBy('created_at')
    .orderBy('id')
    .limit(limit)
    .offset(offset)
    .execute()
}

export function countOpenInvitations(db: CredentialsDb, orgId: string, now: string): Promise<number> {
  return totalOf(openInvitationsOf(db, orgId, now))
}

/** Returns the condition that an invitation has uses left and has not expired. */
function isOpen(now: string) {
  return ({ and, eb }: ExpressionBuilder<CredentialsSchema, 'invitation'>) =>
    and([eb('uses_left', '>', 0), eb('expires_at', '>', now)])
}

function openInvitationsOf(db: CredentialsDb, orgId: string, now: string) {
  return db.selectFrom('invitation').where('org_id', '=', orgId).where(isOpen(now))
}

/** Deletes an invitation of any kind. */
export async function deleteInvitation(db: CredentialsDb, id: string): Promise<void> {
  await db.deleteFrom('invitation').where('id', '=', id).execute()
}

/** Returns false if the organisation has no such invitation, or if it has ended. */
export async function deleteOpenInvitation(
  db: CredentialsDb,
  orgId: string,
  id: string,
  now: string,
): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('invitation')
    .where('id', '=', id)
    .where('org_id', '=', orgId)
    .where(isOpen(now))
    .executeTakeFirstOrThrow()
  return numDeletedRows === 1n
}

/**
 * Deletes the expired invitations of all organisations. Used-up invitations stay until they expire, so that a repeated
 * acceptance still finds the organisation.
 */
export async function deleteExpiredInvitations(db: CredentialsDb, now: string): Promise<void> {
  await db.deleteFrom('invitation').where('expires_at', '<=', now).execute()
}
