/**
 * Invitations of an organisation: made, listed and withdrawn by its owners, or made by the operator; and what they let a person
 * do: sign up, join the organisation.
 */
import { v7 as newId } from 'uuid'
import { emailKey, findAccountById, findActiveProfile } from '../../../index/credentials/accounts.ts'
import {
  countOpenInvitations,
  deleteOpenInvitation,
  findInvitation,
  insertInvitation,
  insertInvitationUse,
  listOpenInvitations,
  lockInvitationsOf,
  useInvitation,
} from '../../../index/credentials/invitations.ts'
import { findCard } from '../../../index/credentials/org-cards.ts'
import {
  deletePendingMembership,
  findPendingMembership,
  insertPendingMembership,
} from '../../../index/credentials/pending-memberships.ts'
import type {
  CredentialsDb,
  OrgInvitation,
  PendingMembership,
  Invitation as Row,
} from '../../../index/credentials/schema.ts'
import { findRole } from '../../../index/derived/org-queries.ts'
import type { Role } from '../../../index/derived/schema.ts'
import type { Deps } from '../../base/deps.ts'
import { AppError, invalid } from '../../base/errors.ts'
import { authorizeOrg, findOrg, includesRole } from '../access.ts'
import type { Operator, Person } from '../actor.ts'
import { withRoleAtLeast } from '../orgs/members.ts'
import { changeOrg } from '../orgs/org-changes.ts'
import { type Page, pageOf } from '../pagination.ts'
import type { InvitationAt, OrgAt } from '../targets.ts'
import { requireEmail } from './identity.ts'
import { type JoinedOrg, joinedOrg, mayInvite } from './memberships.ts'
import { hashOf, newToken } from './tokens.ts'

const dayMs = 24 * 3600 * 1000

/** Days that an invitation lasts. */
export const invitationDays = { default: 7, longest: 30 } as const

/** People that one invitation lets in at most. */
export const mostUses = 1_000

/** Of an organisation, those that have ended not counted. */
const maxInvitations = 1_000

interface Invitation {
  readonly id: string
  readonly role: Role
  /** The only address that may use it, in lower case. */
  readonly email?: string
  readonly uses_left: number
  readonly expires_at: string
  /** The owner's account; absent: the operator. */
  readonly created_by?: string
  readonly created_at: string
}

/** The secret is in `token`, and in `url` behind the `#`, which no browser sends to a server. */
export type CreatedInvitation = Invitation & { readonly token: string }

export interface InvitationBounds {
  readonly email?: string
  /** Default: 1. */
  readonly uses?: number
  /** ISO 8601, within 30 days. Default: in 7 days. */
  readonly expires_at?: string
}

export interface NewInvitation extends InvitationBounds {
  readonly role: Role
}

/**
 * The secret is shown only in this answer.
 *
 * @throws ValidationError email, expires_at; AppError org_not_found, forbidden, too_many_invitations
 */
export async function createInvitation(
  deps: Deps,
  actor: Person | Operator,
  at: OrgAt,
  { role, ...bounds }: NewInvitation,
): Promise<CreatedInvitation> {
  if (actor.kind === 'person') await authorizeOrg(deps, actor, at, 'owner')
  else if (!(await findOrg(deps, at.orgId))) throw new AppError('org_not_found', 'Organisation not found')
  const created_by = actor.kind === 'person' ? actor.id : null
  const { row, token } = await insert(deps, { org_id: at.orgId, role, created_by }, bounds)
  return { ...toInvitation({ ...row, role }), token }
}

/** Only lets people sign up. @throws ValidationError as createInvitation */
export async function createSignUpInvitation(
  deps: Deps,
  _actor: Operator,
  bounds: InvitationBounds,
): Promise<{ readonly token: string }> {
  const { token } = await insert(deps, { org_id: null, role: null, created_by: null }, bounds)
  return { token }
}

/** Where people read how to use it. `base`: the service's address, without a slash at its end. */
export function invitationUrl(base: string, token: string): string {
  return `${base}/join#token=${token}`
}

/** Those that have not ended, the oldest first. */
export async function listInvitations(deps: Deps, actor: Person, at: OrgAt, page: Page) {
  await authorizeOrg(deps, actor, at, 'owner')
  const { read } = deps.credentials
  const now = deps.now().toISOString()
  const rows = await listOpenInvitations(read, at.orgId, now, page)
  return { invitations: rows.map(toInvitation), ...pageOf(page, await countOpenInvitations(read, at.orgId, now)) }
}

/** @throws AppError invitation_not_found, also for one that has ended */
export async function revokeInvitation(deps: Deps, actor: Person, at: InvitationAt): Promise<void> {
  await authorizeOrg(deps, actor, at, 'owner')
  const now = deps.now().toISOString()
  const deleted = await deps.credentials.write((trx) => deleteOpenInvitation(trx, at.orgId, at.invitationId, now))
  if (!deleted) throw new AppError('invitation_not_found', 'Invitation not found')
}

async function insert(
  deps: Deps,
  given: Pick<Row, 'org_id' | 'role' | 'created_by'>,
  { email, uses = 1, expires_at }: InvitationBounds,
): Promise<{ readonly row: Row; readonly token: string }> {
  if (email !== undefined) requireEmail(email)
  const now = deps.now()
  const created_at = now.toISOString()
  const token = newToken('invite')
  const row: Row = {
    ...given,
    id: newId(),
    hash: hashOf(token),
    email_key: email === undefined ? null : emailKey(email),
    uses_left: uses,
    expires_at: expiryOf(expires_at, now),
    created_at,
  }
  await deps.credentials.write(async (trx) => {
    if (row.org_id !== null) {
      await lockInvitationsOf(trx, row.org_id)
      if ((await countOpenInvitations(trx, row.org_id, created_at)) >= maxInvitations)
        throw new AppError('too_many_invitations', `There are ${maxInvitations} open invitations; revoke some first`)
    }
    await insertInvitation(trx, row)
  })
  return { row, token }
}

function expiryOf(text: string | undefined, now: Date): string {
  const { default: usual, longest } = invitationDays
  const time = text === undefined ? new Date(now.getTime() + usual * dayMs) : new Date(text)
  const end = now.getTime() + longest * dayMs
  if (time > now && time.getTime() <= end) return time.toISOString()
  throw invalid(['body', 'expires_at'], `An invitation must end in the future, and within ${longest} days`, text)
}

function toInvitation({
  id,
  role,
  email_key,
  uses_left,
  expires_at,
  created_by,
  created_at,
}: OrgInvitation): Invitation {
  return {
    id,
    role,
    ...(email_key === null ? {} : { email: email_key }),
    uses_left,
    expires_at,
    ...(created_by === null ? {} : { created_by }),
    created_at,
  }
}

function invitationNotFoundError(): AppError {
  return new AppError('invitation_not_found', 'The invitation is unknown, expired, used up or for somebody else')
}

/**
 * The invitation of the token, if that address may use it now. One of an owner is good only while they are an owner and not disabled; one of
 * the operator, as long as there is the organisation.
 */
async function findGoodInvitation(deps: Deps, token: string, email: string): Promise<Row | undefined> {
  const invitation = await findInvitation(deps.credentials.read, hashOf(token))
  if (invitation === undefined || !isFor(invitation, email) || !(await isGood(deps, invitation))) return undefined
  return invitation
}

/**
 * Takes one use and, where it is one of an organisation, inserts the membership that is then committed. Runs in the transaction
 * of what the invitation allows. A person uses an invitation once: who was removed, or has a lower role since, needs another one.
 * `refuse`: the error if it has ended meanwhile.
 *
 * @throws AppError of `refuse`
 */
export async function takeInvitation(
  trx: CredentialsDb,
  { id, org_id, role, created_by }: Row,
  accountId: string,
  now: string,
  refuse: () => AppError,
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
 * @throws AppError invitation_not_found, too_many_members
 */
export async function acceptInvitation(deps: Deps, actor: Person, { token }: { token: string }): Promise<JoinedOrg> {
  const { read, write } = deps.credentials
  const [invitation, account] = [await findInvitation(read, hashOf(token)), await findAccountById(read, actor.id)]
  if (!invitation?.org_id || !invitation.role || !account || !isFor(invitation, account.email))
    throw invitationNotFoundError()
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
    if (!(await mayInvite(deps, record, created_by))) throw invitationNotFoundError()
    pending = await write(async (trx) => {
      if (left) await deletePendingMembership(trx, left)
      return takeInvitation(trx, invitation, actor.id, now.toISOString(), invitationNotFoundError)
    })
    return changed
  }).catch(orgIsGone)
  const committed = pending
  if (committed) await write((trx) => deletePendingMembership(trx, committed))
  if (!joined) throw invitationNotFoundError()
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
  if (card === undefined) throw invitationNotFoundError()
  const left = await findPendingMembership(read, actor.id, id)
  for (const known of [card.role, left?.role])
    if (known && includesRole(known, role)) return { id, name: card.name, role: known }
  if (created_by !== null && !(await isOwnerElsewhere(read, id, created_by))) throw invitationNotFoundError()
  await write(async (trx) => {
    if (left) await deletePendingMembership(trx, left)
    await takeInvitation(trx, invitation, actor.id, deps.now().toISOString(), invitationNotFoundError)
  })
  return { id, name: card.name, role }
}

async function isOwnerElsewhere(read: CredentialsDb, orgId: string, userId: string): Promise<boolean> {
  const isActive = (await findActiveProfile(read, userId)) !== undefined
  return isActive && (await findCard(read, orgId, userId))?.role === 'owner'
}

function orgIsGone(error: unknown): never {
  throw error instanceof AppError && error.code === 'org_not_found' ? invitationNotFoundError() : error
}

function isFor({ email_key }: Row, email: string): boolean {
  return email_key === null || email_key === emailKey(email)
}

async function isGood(deps: Deps, { uses_left, expires_at, org_id, created_by }: Row): Promise<boolean> {
  if (uses_left === 0 || expires_at <= deps.now().toISOString()) return false
  if (org_id === null) return true
  if ((await deps.placement.findElsewhere(org_id)) !== undefined)
    return created_by === null || isOwnerElsewhere(deps.credentials.read, org_id, created_by)
  if (!(await findOrg(deps, org_id))) return false
  if (created_by === null) return true
  const isActive = (await findActiveProfile(deps.credentials.read, created_by)) !== undefined
  return isActive && (await findRole(deps.index.read, org_id, created_by)) === 'owner'
}

/**
 * The invitation by which a person of that address signs up, if they sent one. Costs a few reads: it comes before the
 * password is hashed.
 *
 * @throws AppError signup_closed; invitation_not_found where sign-up is open and the invitation is not good
 */
export async function requireSignUpAllowed(
  deps: Deps,
  email: string,
  token: string | undefined,
): Promise<Row | undefined> {
  if (deps.config.signup === 'closed') throw signUpRefusedError(deps)
  const invitation = token === undefined ? undefined : await findGoodInvitation(deps, token, email)
  if (invitation === undefined && (token !== undefined || deps.config.signup === 'invite'))
    throw signUpRefusedError(deps)
  return invitation
}

/** The error of who needs an invitation, or has sent one, and has no good one. */
export function signUpRefusedError({ config: { signup } }: Deps): AppError {
  if (signup === 'open') return invitationNotFoundError()
  const reason =
    signup === 'closed' ? 'Sign-up is closed; ask the operator' : 'Sign-up needs an invitation that is good'
  return new AppError('signup_closed', reason)
}

/** What a client shows to people who are not signed in. */
export function readAuthConfig({ config: { signup } }: Deps) {
  return { signup, password_login: true, password_reset: 'operator', oidc: [] } as const
}
