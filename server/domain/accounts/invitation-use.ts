/** What an invitation lets a person do: sign up, join its organisation. */
import { emailKey, findAccountById, findActiveProfile } from '../../../index/credentials/accounts.ts'
import { findInvitation, insertInvitationUse, useInvitation } from '../../../index/credentials/invitations.ts'
import { findCard } from '../../../index/credentials/org-cards.ts'
import {
  deletePendingMembership,
  findPendingMembership,
  insertPendingMembership,
} from '../../../index/credentials/pending-memberships.ts'
import type { CredentialsDb, Invitation, OrgInvitation, PendingMembership } from '../../../index/credentials/schema.ts'
import { findRole } from '../../../index/derived/org-queries.ts'
import type { Deps } from '../../base/deps.ts'
import { Refusal } from '../../base/errors.ts'
import { findOrg, includesRole } from '../access.ts'
import type { Person } from '../actor.ts'
import { withRoleAtLeast } from '../orgs/members.ts'
import { changeOrg } from '../orgs/org-changes.ts'
import { type JoinedOrg, joinedOrg, mayInvite } from './memberships.ts'
import { hashOf } from './tokens.ts'

export function invitationNotFound(): Refusal {
  return new Refusal('invitation_not_found', 'The invitation is unknown, expired, used up or for somebody else')
}

/**
 * The invitation of the token, if that address may use it now. One of an owner is good only while they are an owner and not disabled; one of
 * the operator, as long as there is the organisation.
 */
export async function findGoodInvitation(deps: Deps, token: string, email: string): Promise<Invitation | undefined> {
  const invitation = await findInvitation(deps.credentials.read, hashOf(token))
  if (invitation === undefined || !isFor(invitation, email) || !(await isGood(deps, invitation))) return undefined
  return invitation
}

/**
 * Takes one use and, where it is one of an organisation, inserts the membership that is then committed. Runs in the transaction
 * of what the invitation allows. A person uses an invitation once: who was removed, or has a lower role since, needs another one.
 * `refuse`: the error if it has ended meanwhile.
 *
 * @throws Refusal of `refuse`
 */
export async function takeInvitation(
  trx: CredentialsDb,
  { id, org_id, role, created_by }: Invitation,
  accountId: string,
  now: string,
  refuse: () => Refusal,
): Promise<PendingMembership | undefined> {
  if (!(await useInvitation(trx, id, now))) throw refuse()
  if (!(await insertInvitationUse(trx, id, accountId, now))) throw refuse()
  if (org_id === null || role === null) return undefined
  const pending = { account_id: accountId, org_id, role, invited_by: created_by, created_at: now }
  await insertPendingMembership(trx, pending)
  return pending
}

/**
 * Joins the organisation of the invitation, or raises the caller's role in it. Takes no use of it where the caller has that
 * role or a higher one, or where an earlier request has taken one and failed: a repetition gets the same answer. The use is
 * taken under the lock of org.git, so that several requests of a person take one.
 *
 * @throws Refusal invitation_not_found, too_many_members
 */
export async function acceptInvitation(deps: Deps, actor: Person, { token }: { token: string }): Promise<JoinedOrg> {
  const { read, write } = deps.credentials
  const [invitation, account] = [await findInvitation(read, hashOf(token)), await findAccountById(read, actor.id)]
  if (!invitation?.org_id || !invitation.role || !account || !isFor(invitation, account.email))
    throw invitationNotFound()
  const { org_id: orgId, role, created_by } = invitation
  if ((await deps.placement.findElsewhere(orgId)) !== undefined)
    return joinElsewhere(deps, actor, { ...invitation, org_id: orgId, role })
  const now = deps.now()
  let joined: JoinedOrg | undefined
  let pending: PendingMembership | undefined
  await changeOrg(deps, actor, { orgId }, 'join', async (record) => {
    const left = await findPendingMembership(read, actor.id, orgId)
    const begun =
      left && (await mayInvite(deps, record, left.invited_by)) && includesRole(left.role, role) ? left : undefined
    const changed = withRoleAtLeast(record, actor, begun?.role ?? role, now)
    joined = joinedOrg(changed, actor.id)
    pending = left
    if (changed === record || begun) return changed
    if (!(await mayInvite(deps, record, created_by))) throw invitationNotFound()
    pending = await write(async (trx) => {
      if (left) await deletePendingMembership(trx, left)
      return takeInvitation(trx, invitation, actor.id, now.toISOString(), invitationNotFound)
    })
    return changed
  }).catch(orgIsGone)
  const committed = pending
  if (committed) await write((trx) => deletePendingMembership(trx, committed))
  if (!joined) throw invitationNotFound()
  return joined
}

/**
 * The use is taken, and the cell that has the organisation commits the membership within a minute. Judged by the directory,
 * which may be behind; that cell looks again.
 */
async function joinElsewhere(
  { credentials: { read, write }, ...deps }: Deps,
  actor: Person,
  invitation: OrgInvitation & { org_id: string },
): Promise<JoinedOrg> {
  const { org_id: id, role, created_by } = invitation
  const card = await findCard(read, id, actor.id)
  if (card === undefined) throw invitationNotFound()
  const left = await findPendingMembership(read, actor.id, id)
  for (const known of [card.role, left?.role])
    if (known && includesRole(known, role)) return { id, name: card.name, role: known }
  if (created_by !== null && !(await isOwnerElsewhere(read, id, created_by))) throw invitationNotFound()
  await write(async (trx) => {
    if (left) await deletePendingMembership(trx, left)
    await takeInvitation(trx, invitation, actor.id, deps.now().toISOString(), invitationNotFound)
  })
  return { id, name: card.name, role }
}

async function isOwnerElsewhere(read: CredentialsDb, orgId: string, userId: string): Promise<boolean> {
  const isActive = (await findActiveProfile(read, userId)) !== undefined
  return isActive && (await findCard(read, orgId, userId))?.role === 'owner'
}

function orgIsGone(error: unknown): never {
  throw error instanceof Refusal && error.code === 'org_not_found' ? invitationNotFound() : error
}

function isFor({ email_key }: Invitation, email: string): boolean {
  return email_key === null || email_key === emailKey(email)
}

async function isGood(deps: Deps, { uses_left, expires_at, org_id, created_by }: Invitation): Promise<boolean> {
  if (uses_left === 0 || expires_at <= deps.now().toISOString()) return false
  if (org_id === null) return true
  if ((await deps.placement.findElsewhere(org_id)) !== undefined)
    return created_by === null || isOwnerElsewhere(deps.credentials.read, org_id, created_by)
  if (!(await findOrg(deps, org_id))) return false
  if (created_by === null) return true
  const isActive = (await findActiveProfile(deps.credentials.read, created_by)) !== undefined
  return isActive && (await findRole(deps.index.read, org_id, created_by)) === 'owner'
}
