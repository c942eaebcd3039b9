/**
 * Memberships that invitations have given.
 *
 * Each is a row until a commit of org.git has it. After a crash, that commit is made later.
 */
import { findAccountById, findActiveProfile } from '../../../index/credentials/accounts.ts'
import { deleteExpiredInvitations } from '../../../index/credentials/invitations.ts'
import {
  deletePendingMembership,
  findPendingMembership,
  listPendingMemberships,
  listPendingMembershipsOf,
} from '../../../index/credentials/pending-memberships.ts'
import type { PendingMembership } from '../../../index/credentials/schema.ts'
import type { Role } from '../../../index/derived/schema.ts'
import { AppError } from '../../base/errors.ts'
import type { Person } from '../actor.ts'
import type { OrgRecord } from '../format/org-format.ts'
import { withRoleAtLeast } from '../orgs/members.ts'
import { changeOrg, isOwner } from '../orgs/org-changes.ts'
import type { Ctx, Services } from '../services.ts'
import { personOf } from './user-view.ts'

/** An organisation that a user has joined. */
export interface JoinedOrg {
  readonly id: string
  readonly name: string
  readonly role: Role
}

/** Rows of one pass of the background job. */
const passLimit = 1_000

/**
 * Commits the membership to org.git and deletes its row. If the inviter is disabled or no longer an owner, drops it.
 *
 * Acts only if the row still exists under the lock of org.git. A change of the member by an owner deletes it, and
 * another process may have finished it. The row of an organisation in another cell stays, for that cell to commit.
 *
 * @returns the membership in org.git. Undefined: the user is not a member
 * @throws AppError org_not_found, too_many_members: the row is dropped. Any other error leaves the row for a retry.
 */
export async function completeMembership(ctx: Ctx<Person>, pending: PendingMembership): Promise<JoinedOrg | undefined> {
  const { account_id, org_id: orgId } = pending
  if ((await ctx.placement.findElsewhere(orgId)) !== undefined) return undefined
  let joined: JoinedOrg | undefined
  const refused = await changeOrg(ctx, ctx.actor, { org_id: orgId }, 'join', async (record) => {
    const row = await findPendingMembership(ctx.credentials.read, account_id, orgId)
    const isGiven = row !== undefined && (await mayInvite(ctx, record, row.invited_by))
    const changed = isGiven ? withRoleAtLeast(record, ctx.actor, row.role, ctx.now()) : record
    joined = joinedOrg(changed, ctx.actor.id)
    return changed
  }).catch((error: unknown) => {
    if (isFinal(error)) return error
    throw error
  })
  await ctx.credentials.write((trx) => deletePendingMembership(trx, pending))
  if (refused) throw refused
  return joined
}

/** Returns the membership in the record, if there is one. */
export function joinedOrg({ org: { id, name }, members }: OrgRecord, userId: string): JoinedOrg | undefined {
  const role = members.get(userId)?.role
  return role && { id, name, role }
}

/** True if an invitation by that user (null: the operator) is valid. Runs under the lock of org.git. */
export async function mayInvite({ credentials }: Services, record: OrgRecord, by: string | null): Promise<boolean> {
  return by === null || (isOwner(record, by) && (await findActiveProfile(credentials.read, by)) !== undefined)
}

/** True if a retry cannot succeed. */
export function isFinal(error: unknown): error is AppError {
  return error instanceof AppError && (error.code === 'org_not_found' || error.code === 'too_many_members')
}

/** Commits a user's pending memberships. A failure is only logged, so that it does not prevent a sign-in. */
export async function completeMembershipsOf(ctx: Ctx<Person>): Promise<void> {
  for (const pending of await listPendingMembershipsOf(ctx.credentials.read, ctx.actor.id))
    await finishOrLog(ctx, pending)
}

/** Commits the pending memberships of all users. */
export async function completeMemberships(deps: Services): Promise<void> {
  for (const pending of await listPendingMemberships(deps.credentials.read, passLimit)) {
    if (deps.draining.aborted) return
    const account = await findAccountById(deps.credentials.read, pending.account_id)
    if (account !== undefined) await finishOrLog({ ...deps, actor: personOf(account) }, pending)
  }
}

async function finishOrLog(ctx: Ctx<Person>, pending: PendingMembership): Promise<void> {
  await completeMembership(ctx, pending).catch((error: unknown) => {
    const { account_id: accountId, org_id: orgId } = pending
    if (isFinal(error)) ctx.log.warn({ accountId, orgId, code: error.code }, 'a pending membership was dropped')
    else ctx.log.error({ err: error, accountId, orgId }, 'a pending membership could not be committed; it is retried')
  })
}

export async function forgetInvitations(deps: Services): Promise<void> {
  const now = deps.now().toISOString()
  await deps.credentials.write((trx) => deleteExpiredInvitations(trx, now))
}
