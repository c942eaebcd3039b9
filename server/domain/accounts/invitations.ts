/**
 * Invitations to sign up, and to join an organisation.
 *
 * Owners of the organisation create, list and revoke them. The operator can also create them.
 */
import { v7 as newId } from 'uuid'
import { emailKey, findAccountById, findActiveProfile } from '../../../index/credentials/accounts.ts'
import {
  countOpenInvitations,
  deleteOpenInvitation,
  findInvitation,
  findInvitationById,
  insertInvitation,
  insertInvitationUse,
  listOpenInvitations,
  lockInvitationsOf,
  useInvitation,
} from '../../../index/credentials/invitations.ts'
import { findMailStates } from '../../../index/credentials/mail.ts'
import { findCard } from '../../../index/credentials/org-cards.ts'
import {
  deletePendingMembership,
  findPendingMembership,
  insertPendingMembership,
} from '../../../index/credentials/pending-memberships.ts'
import type {
  CredentialsDb,
  Mail,
  OrgInvitation,
  PendingMembership,
  Invitation as Row,
} from '../../../index/credentials/schema.ts'
import { findRole } from '../../../index/derived/org-queries.ts'
import type { Role } from '../../../index/derived/schema.ts'
import { AppError, invalid } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { authorizeOrg, includesRole, orgNotFoundError, requireVerifiedEmail } from '../access.ts'
import type { Operator, Person } from '../actor.ts'
import { type AuditEntry, audit } from '../audit/audit.ts'
import { findOrg } from '../indexing/freshness.ts'
import type { Letter } from '../mail/letter.ts'
import { hasMail, type QueuedMail, queueMail } from '../mail/outbox.ts'
import { invitationLetter, tokenLink } from '../mail/texts.ts'
import { MailError } from '../mail/transport.ts'
import { withRoleAtLeast } from '../orgs/members.ts'
import { changeOrg } from '../orgs/org-changes.ts'
import { type Page, pageOf } from '../pagination.ts'
import { type Ctx, isPersons, type Services } from '../services.ts'
import type { Body, InvitationAt, OrgAt, Path, Query } from '../targets.ts'
import { requireEmail } from './identity.ts'
import { type JoinedOrg, joinedOrg, mayInvite } from './memberships.ts'
import { findMailedToken, hashOf, mailedToken, newToken } from './tokens.ts'

const dayMs = 24 * 3600 * 1000

/** Days that an invitation lasts. */
export const invitationDays = { default: 7, longest: 30 } as const

interface Invitation {
  readonly id: string
  readonly role: Role
  /** The only e-mail address that may use it, in lower case. */
  readonly email?: string
  readonly uses_left: number
  readonly expires_at: string
  /** Its mail waits, or the mail server refused it within the last 7 days. Absent: it was sent, or there was none. */
  readonly mail?: 'waiting' | 'failed'
  /** The owner's account. Absent: the operator. */
  readonly created_by?: string
  readonly created_at: string
}

/** A new invitation. `token` is its secret. */
export type CreatedInvitation = Invitation & {
  readonly token: string
  /** True if it is mailed to `email`. False: the owner has invited too many today. Absent: no mail was possible. */
  readonly mailed?: boolean
}

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
 * Creates an invitation. Its secret is shown only in this answer.
 *
 * @throws ValidationError email, expires_at
 * @throws AppError org_not_found, forbidden, email_unverified, too_many_invitations
 */
export async function createInvitation(
  ctx: Ctx<Person | Operator>,
  { path, body: { role, ...bounds } }: Path<OrgAt> & Body<NewInvitation>,
): Promise<CreatedInvitation> {
  if (isPersons(ctx)) await authorizeOrg(ctx, path, 'owner')
  await requireVerifiedEmail(ctx)
  const org = await findOrg(ctx, path.org_id)
  if (!org) throw orgNotFoundError()
  const created_by = ctx.actor.kind === 'person' ? ctx.actor.id : null
  const sender = ctx.actor.kind === 'person' ? { actor: ctx.actor, org: org.name } : undefined
  const { row, token, mailed } = await insert(ctx, { org_id: path.org_id, role, created_by }, bounds, sender)
  await auditCreation(ctx, row)
  return { ...toInvitation({ ...row, role }), token, ...(mailed !== undefined && { mailed }) }
}

/** Creates an invitation that is only for signing up. @throws ValidationError email, expires_at */
export async function createSignUpInvitation(
  ctx: Ctx<Operator>,
  bounds: InvitationBounds,
): Promise<{ readonly token: string }> {
  const { row, token } = await insert(ctx, { org_id: null, role: null, created_by: null }, bounds)
  await auditCreation(ctx, row)
  return { token }
}

async function auditCreation(ctx: Ctx<Person | Operator>, row: Row): Promise<void> {
  const { id, org_id, role, uses_left: uses, expires_at, email_key } = row
  await audit(ctx, {
    action: 'invitation.created',
    actor: ctx.actor,
    ...(org_id !== null && { orgId: org_id }),
    target: { type: 'invitation', id },
    detail: { ...(role !== null && { role }), uses, expires_at, for_one_email: email_key !== null },
  })
}

/** The entry of the audit for a use of an invitation. */
export function invitationUse(actor: Person, { id, org_id, role }: Pick<Row, 'id' | 'org_id' | 'role'>): AuditEntry {
  return {
    action: 'invitation.used',
    actor,
    ...(org_id !== null && { orgId: org_id }),
    target: { type: 'invitation', id },
    detail: role === null ? {} : { role },
  }
}

/**
 * Returns the URL of the page that explains how to use an invitation. The secret is in the fragment, which browsers do
 * not send to the server.
 *
 * @param base the service's URL, without a trailing slash
 */
export function invitationUrl(base: string, token: string): string {
  return `${base}/join#token=${token}`
}

/** Lists open invitations, oldest first. */
export async function listInvitations(ctx: Ctx<Person>, { path, query }: Path<OrgAt> & Query<Page>) {
  await authorizeOrg(ctx, path, 'owner')
  const { read } = ctx.credentials
  const now = ctx.now().toISOString()
  const rows = await listOpenInvitations(read, path.org_id, now, query)
  const ids = rows.map(({ id }) => id)
  const mails = await findMailStates(read, ids)
  const invitations = rows.map((row) => {
    const mail = mails.get(row.id)
    return { ...toInvitation(row), ...(mail !== undefined && { mail }) }
  })
  return { invitations, ...pageOf(query, await countOpenInvitations(read, path.org_id, now)) }
}

/** @throws AppError invitation_not_found, also if it has ended */
export async function revokeInvitation(ctx: Ctx<Person>, { path }: Path<InvitationAt>): Promise<void> {
  await authorizeOrg(ctx, path, 'owner')
  const now = ctx.now().toISOString()
  const deleted = await ctx.credentials.write((trx) => deleteOpenInvitation(trx, path.org_id, path.invitation_id, now))
  if (!deleted) throw new AppError('invitation_not_found', 'Invitation not found')
  const target = { type: 'invitation', id: path.invitation_id } as const
  await audit(ctx, { action: 'invitation.revoked', actor: ctx.actor, orgId: path.org_id, target })
}

async function insert(
  deps: Services,
  given: Pick<Row, 'org_id' | 'role' | 'created_by'>,
  { email, uses = 1, expires_at }: InvitationBounds,
  sender?: Sender,
): Promise<{ readonly row: Row; readonly token: string; readonly mailed?: boolean }> {
  if (email !== undefined) requireEmail(email)
  const now = deps.now()
  const created_at = now.toISOString()
  // The mail has the id of its invitation.
  const id = newId()
  const mailId = email !== undefined && sender !== undefined && hasMail(deps) ? id : undefined
  const token = mailId === undefined ? newToken('invite') : await mailedToken(deps, 'invite', mailId)
  const row: Row = {
    ...given,
    id,
    hash: hashOf(token),
    email_key: email === undefined ? null : emailKey(email),
    uses_left: uses,
    expires_at: expiryOf(expires_at, now),
    created_at,
  }
  const mail = mailId !== undefined && email !== undefined && sender && invitationMail(mailId, email, row, sender)
  const mailed = mail && (await deps.limitMail('invitation', sender?.actor.id))
  await deps.credentials.write(async (trx) => {
    if (row.org_id !== null) {
      await lockInvitationsOf(trx, row.org_id)
      if ((await countOpenInvitations(trx, row.org_id, created_at)) >= limits.invitations)
        throw new AppError(
          'too_many_invitations',
          `There are ${limits.invitations} open invitations; revoke some first`,
        )
    }
    await insertInvitation(trx, row)
    if (mail && mailed) await queueMail(deps, trx, mail)
  })
  return { row, token, ...(typeof mailed === 'boolean' && mail && { mailed }) }
}

/** The owner in whose name an invitation is mailed, and the name of the organisation. */
interface Sender {
  readonly actor: Person
  readonly org: string
}

/** The names are kept, because another cell may send the mail. */
function invitationMail(id: string, address: string, row: Row, { actor, org }: Sender): QueuedMail {
  return { id, kind: 'invitation', address, fields: { invitation: row.id, org, by: actor.name } }
}

/** Undefined: the invitation has ended, or its owner is disabled. @throws MailError its key was deleted */
export async function writeInvitation(deps: Services, { id, fields }: Mail): Promise<Letter | undefined> {
  const { credentials, config, now } = deps
  const { invitation = '', org = '', by = '' }: Readonly<Record<string, string>> = JSON.parse(fields)
  const row = await findInvitationById(credentials.read, invitation)
  if (row?.role == null || row.uses_left === 0 || row.expires_at <= now().toISOString()) return undefined
  if (config.publicUrl === undefined || row.created_by === null) return undefined
  if ((await findActiveProfile(credentials.read, row.created_by)) === undefined) return undefined
  const token = await findMailedToken(deps, 'invite', id, row.hash)
  if (token === undefined)
    throw new MailError('The keys were rotated since the invitation was created, so its link is lost', false)
  return invitationLetter(tokenLink(config.publicUrl, 'join', token), {
    ...{ org, by, role: row.role, expiresAt: row.expires_at },
  })
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
 * Returns the invitation of the token, if that e-mail address may use it now. An owner's invitation is valid while they
 * are an owner and not disabled. The operator's is valid while the organisation exists.
 */
async function findGoodInvitation(deps: Services, token: string, email: string): Promise<Row | undefined> {
  const invitation = await findInvitation(deps.credentials.read, hashOf(token))
  if (invitation === undefined || !isFor(invitation, email) || !(await isGood(deps, invitation))) return undefined
  return invitation
}

/**
 * Takes one use of an invitation, and inserts its membership, if any, to be committed. Runs in the same transaction as
 * the change that the invitation allows. An account can use an invitation once. A member who was removed or has a lower
 * role since needs another one.
 *
 * @param refuse creates the error if the invitation has just ended
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

/** An open invitation, as its secret shows it to anybody. */
interface OpenInvitation {
  readonly org?: string
  readonly role?: Role
  readonly invited_by?: string
  readonly expires_at: string
}

/** Returns what an invitation allows. Takes no use. @throws AppError invitation_not_found */
export async function readInvitation(ctx: Ctx, { body: { token } }: Body<{ token: string }>): Promise<OpenInvitation> {
  const { read } = ctx.credentials
  const invitation = await findInvitation(read, hashOf(token))
  if (invitation === undefined || !(await isGood(ctx, invitation))) throw invitationNotFoundError()
  const { org_id, role, created_by, expires_at } = invitation
  if (org_id === null || role === null) return { expires_at }
  const owner = created_by === null ? undefined : await findActiveProfile(read, created_by)
  // The organisation may be in another cell.
  const org =
    (await findOrg(ctx, org_id)) ?? (created_by === null ? undefined : await findCard(read, org_id, created_by))
  return {
    ...{ role, expires_at },
    ...(org && { org: org.name }),
    ...(owner && { invited_by: owner.name }),
  }
}

/**
 * Joins the organisation of the invitation, or raises the caller's role in it. Takes no use if the caller has that role
 * or a higher one, or if an earlier request has taken one and failed. A repetition gets the same answer. The use is
 * taken under the lock of org.git, so that several requests of one caller take one use.
 *
 * @throws AppError invitation_not_found, too_many_members
 */
export async function acceptInvitation(
  ctx: Ctx<Person>,
  { body: { token } }: Body<{ token: string }>,
): Promise<JoinedOrg> {
  const { read, write } = ctx.credentials
  const [invitation, account] = [await findInvitation(read, hashOf(token)), await findAccountById(read, ctx.actor.id)]
  if (!invitation?.org_id || !invitation.role || account?.kind !== 'person' || !isFor(invitation, account.email))
    throw invitationNotFoundError()
  const { org_id: orgId, role, created_by } = invitation
  if ((await ctx.placement.findElsewhere(orgId)) !== undefined)
    return joinElsewhere(ctx, { ...invitation, org_id: orgId, role })
  const now = ctx.now()
  let joined: JoinedOrg | undefined
  let pending: PendingMembership | undefined
  let isTaken = false
  const joining = changeOrg(ctx, ctx.actor, { org_id: orgId }, 'join', async (record) => {
    const left = await findPendingMembership(read, ctx.actor.id, orgId)
    const begun =
      left && (await mayInvite(ctx, record, left.invited_by)) && includesRole(left.role, role) ? left : undefined
    const changed = withRoleAtLeast(record, ctx.actor, begun?.role ?? role, now)
    joined = joinedOrg(changed, ctx.actor.id)
    pending = left
    if (changed === record || begun) return changed
    if (!(await mayInvite(ctx, record, created_by))) throw invitationNotFoundError()
    pending = await write(async (trx) => {
      if (left) await deletePendingMembership(trx, left)
      return takeInvitation(trx, invitation, ctx.actor.id, now.toISOString(), invitationNotFoundError)
    })
    isTaken = true
    return changed
  })
  try {
    await joining.catch(orgIsGone)
  } finally {
    if (isTaken) await audit(ctx, invitationUse(ctx.actor, invitation))
  }
  const committed = pending
  if (committed) await write((trx) => deletePendingMembership(trx, committed))
  if (!joined) throw invitationNotFoundError()
  return joined
}

/**
 * Takes a use for an organisation in another cell. That cell commits the membership within a minute. Decides by the
 * directory, which may be behind. The other cell checks again.
 */
async function joinElsewhere(ctx: Ctx<Person>, invitation: OrgInvitation & { org_id: string }): Promise<JoinedOrg> {
  const { read, write } = ctx.credentials
  const { org_id: id, role, created_by } = invitation
  const card = await findCard(read, id, ctx.actor.id)
  if (card === undefined) throw invitationNotFoundError()
  const left = await findPendingMembership(read, ctx.actor.id, id)
  for (const known of [card.role, left?.role])
    if (known && includesRole(known, role)) return { id, name: card.name, role: known }
  if (created_by !== null && !(await isOwnerElsewhere(read, id, created_by))) throw invitationNotFoundError()
  await write(async (trx) => {
    if (left) await deletePendingMembership(trx, left)
    await takeInvitation(trx, invitation, ctx.actor.id, ctx.now().toISOString(), invitationNotFoundError)
  })
  await audit(ctx, invitationUse(ctx.actor, invitation))
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

async function isGood(deps: Services, { uses_left, expires_at, org_id, created_by }: Row): Promise<boolean> {
  if (uses_left === 0 || expires_at <= deps.now().toISOString()) return false
  if (org_id === null) return true
  if ((await deps.placement.findElsewhere(org_id)) !== undefined)
    return created_by === null || isOwnerElsewhere(deps.credentials.read, org_id, created_by)
  if (!(await findOrg(deps, org_id))) return false
  if (created_by === null) return true
  const isActive = (await findActiveProfile(deps.credentials.read, created_by)) !== undefined
  return isActive && (await findRole(deps.index.read, org_id, created_by)) === 'owner'
}

type SignupMode = Services['config']['signup']

/**
 * Returns the invitation of a sign-up, if one was sent. Takes only a few reads, so it runs before the password is
 * hashed.
 *
 * @param signup the rule for sign-up, if it is not the one of the service
 * @throws AppError signup_closed; invitation_not_found if sign-up is open but the invitation is not valid
 */
export async function requireSignUpAllowed(
  deps: Services,
  email: string,
  token: string | undefined,
  signup: SignupMode = deps.config.signup,
): Promise<Row | undefined> {
  if (signup === 'closed') throw signUpRefusedError(signup)
  const invitation = token === undefined ? undefined : await findGoodInvitation(deps, token, email)
  if (invitation === undefined && (token !== undefined || signup === 'invite')) throw signUpRefusedError(signup)
  return invitation
}

/** Returns the error for a missing or invalid invitation. */
export function signUpRefusedError(signup: SignupMode): AppError {
  if (signup === 'open') return invitationNotFoundError()
  const reason = signup === 'closed' ? 'Sign-up is closed; ask the operator' : 'Sign-up needs a valid invitation'
  return new AppError('signup_closed', reason)
}
