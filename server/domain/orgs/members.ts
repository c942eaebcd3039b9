/** Members of an organisation. org.git is the source of truth. */

import { emailKey, findAccountByEmail, findAccountById } from '../../../index/credentials/accounts.ts'
import { deleteInvitationsBy, insertUsesOfAll } from '../../../index/credentials/invitations.ts'
import { deletePendingMembershipIn, findPendingMembership } from '../../../index/credentials/pending-memberships.ts'
import type { Account } from '../../../index/credentials/schema.ts'
import { listMemberRows, type MemberRow } from '../../../index/derived/org-queries.ts'
import type { Role } from '../../../index/derived/schema.ts'
import { AppError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { authorizeOrg, includesRole, requireVerifiedEmail } from '../access.ts'
import type { Operator, Person } from '../actor.ts'
import { isBotMember } from '../format/bots.ts'
import { emailInGit, hashOfEmail, isHiddenEmail, parseHiddenEmail } from '../format/hidden-emails.ts'
import { type MemberFile, maxFormerEmails, type OrgRecord } from '../format/org-format.ts'
import type { Author } from '../format/signatures.ts'
import { type Page, pageOf } from '../pagination.ts'
import { type Ctx, isPersons, type Services } from '../services.ts'
import type { Body, MemberAt, OrgAt, Path, Query } from '../targets.ts'
import { changeOrg, isOwner, requireOwner } from './org-changes.ts'

export interface Member extends MemberRow {
  /** Present if true. */
  readonly is_bot?: true
}

/** Lists the members in the order of joining. */
export async function listMembers(ctx: Ctx<Person>, { path, query }: Path<OrgAt> & Query<Page>) {
  await authorizeOrg(ctx, path, 'reader')
  const { rows, total } = await listMemberRows(ctx.index.read, path.org_id, query)
  return { members: rows.map(toMember), ...pageOf(query, total) }
}

function toMember(row: MemberRow): Member {
  return isBotMember(row) ? { ...row, is_bot: true } : row
}

/**
 * Adds a user who has an account, or changes a member's role. The operator needs no role, and so can give an owner to
 * an organisation without one.
 *
 * @throws AppError account_not_found, email_unverified, forbidden (also for a bot), last_owner, too_many_members
 */
export async function putMember(
  ctx: Ctx<Person | Operator>,
  { path, body: { role } }: Path<MemberAt> & Body<{ role: Role }>,
): Promise<Member> {
  if (isPersons(ctx)) await authorizeOrg(ctx, path, 'owner')
  await requireVerifiedEmail(ctx)
  const account = await findAccountAt(ctx, path)
  if (!account || isForeignBot(account, path))
    throw new AppError('account_not_found', 'There is no account with this e-mail address')
  requirePerson(account)
  const { id: user_id, name } = account
  const email = emailInGit(account)
  const now = ctx.now()
  let created_at = now.toISOString()
  await changeOrg(ctx, ctx.actor, path, 'member', async (record) => {
    if (ctx.actor.kind === 'person') requireOwner(record, ctx.actor)
    const changed = withRole(record, { id: user_id, email, name }, role, now)
    await overruleInvitations(ctx, path, { accountId: user_id, before: record, after: changed })
    created_at = changed.members.get(user_id)?.created_at ?? created_at
    return changed
  })
  return { user_id, email, name, role, created_at }
}

/**
 * Returns the record in which that user has `role`. It is the same record if they already have it. A member keeps the
 * time of joining.
 *
 * @throws AppError last_owner, too_many_members
 */
export function withRole(
  record: OrgRecord,
  { id, email, name, isBot }: Pick<Person, 'id' | 'email' | 'name' | 'isBot'>,
  role: Role,
  now: Date,
): OrgRecord {
  const known = record.members.get(id)
  if (known?.role === role) return record
  if (known?.role === 'owner') requireAnotherOwner(record, id)
  if (!known && record.members.size >= limits.members)
    throw new AppError('too_many_members', `An organisation has at most ${limits.members} members; remove some first`)
  // Keeps fields of a later version.
  const created_at = known?.created_at ?? now.toISOString()
  const former = known && withFormerEmail(known, email)
  const file = { ...known, ...former, email, name, role, created_at, ...(isBot && { kind: 'bot' as const }) }
  return { ...record, members: new Map([...record.members, [id, file]]) }
}

/** Finds the account of an e-mail address. The address may be one that hides another in Git. */
async function findAccountAt(deps: Services, { email }: MemberAt): Promise<Account | undefined> {
  const id = parseHiddenEmail(email)
  const { read } = deps.credentials
  return id === undefined ? findAccountByEmail(read, email) : findAccountById(read, id)
}

/** True for the bot of another organisation, which cannot join this one. */
function isForeignBot({ kind, owner_org_id }: Account, { org_id: orgId }: OrgAt): boolean {
  return kind === 'bot' && owner_org_id !== orgId
}

/** @throws AppError forbidden: bots have their own operations */
function requirePerson({ kind, id }: Account): void {
  if (kind === 'bot') throw new AppError('forbidden', `This member is a bot; change or delete the bot ${id} instead`)
}

/**
 * Removes a member. Owners may remove anyone, and every member may leave.
 *
 * @throws AppError member_not_found, last_owner
 */
export async function removeMember(ctx: Ctx<Person>, { path }: Path<MemberAt>): Promise<void> {
  const { role } = await authorizeOrg(ctx, path, 'reader')
  const key = emailKey(path.email)
  const account = await findAccountAt(ctx, path)
  const leaving = account === undefined ? emailKey(ctx.actor.email) === key : account.id === ctx.actor.id
  if (!leaving && role !== 'owner') throw new AppError('forbidden', 'Only an owner can remove other members')
  if (account && !isForeignBot(account, path)) requirePerson(account)
  await changeOrg(ctx, ctx.actor, path, leaving ? 'leave' : 'remove', async (record) => {
    const named = [...record.members].find(([, member]) => emailKey(member.email) === key)?.[0]
    const id = account !== undefined && record.members.has(account.id) ? account.id : named
    if (!id) throw new AppError('member_not_found', 'There is no member with this e-mail address')
    if (!leaving) requireOwner(record, ctx.actor)
    const changed = { ...withoutMember(record, id), ...leavingOf(record, id, account?.id === id ? account : undefined) }
    await overruleInvitations(ctx, path, { accountId: id, before: record, after: changed, leaving })
    return changed
  })
}

/**
 * Ends the account's membership, unless there is no other member. Does nothing if it is not a member. `lastOwnerToo`:
 * also removes the last owner, for an account that no longer exists. The operator then appoints another owner.
 *
 * @returns false: there is no other member, and nothing has changed
 * @throws AppError org_not_found, last_owner
 */
export async function leaveOrg(
  deps: Services,
  by: Author,
  at: OrgAt,
  { accountId, lastOwnerToo = false }: { readonly accountId: string; readonly lastOwnerToo?: boolean },
): Promise<boolean> {
  const take = lastOwnerToo ? without : withoutMember
  let isAlone = false
  await changeOrg(deps, by, at, 'leave', async (record) => {
    isAlone = isAloneIn(record, accountId)
    if (isAlone || !record.members.has(accountId)) return record
    const changed = take(record, accountId)
    await endInvitationsOf(deps, at, { accountId, before: record, after: changed })
    return changed
  })
  return !isAlone
}

/** True if the account is the only member, apart from bots. */
export function isAloneIn({ members }: OrgRecord, accountId: string): boolean {
  const own = members.get(accountId)
  if (own === undefined || own.kind === 'bot') return false
  return [...members].every(([id, { kind }]) => id === accountId || kind === 'bot')
}

/** Updates the user's name and e-mail address in their member file, if it has others. */
export async function updateMemberProfile(ctx: Ctx<Person>, at: OrgAt): Promise<void> {
  const { id, email, name } = ctx.actor
  await changeOrg(ctx, ctx.actor, at, 'email', (record) => {
    const known = record.members.get(id)
    if (known === undefined || (known.email === email && known.name === name)) return record
    const changed = { ...known, ...withFormerEmail(known, email), email, name }
    return { ...record, members: new Map([...record.members, [id, changed]]) }
  })
}

/** Keeps an earlier address as a hash. Its user cannot approve commits that were made with it. */
function withFormerEmail(known: Pick<MemberFile, 'email' | 'former_emails'>, email?: string) {
  if (known.email === email || isHiddenEmail(known.email)) return {}
  const others = (known.former_emails ?? []).filter((hash) => hash !== hashOfEmail(known.email))
  return { former_emails: [...others, hashOfEmail(known.email)].slice(-maxFormerEmails) }
}

/** Keeps all addresses of a user who leaves, as hashes. The user may come back with another address. */
function leavingOf({ members }: OrgRecord, id: string, account: Account | undefined): Pick<OrgRecord, 'leaving'> {
  const known = members.get(id)
  if (known === undefined) return {}
  const last = { ...known, ...withFormerEmail(known) }
  const { former_emails } = { ...last, ...(account && withFormerEmail({ ...last, email: emailInGit(account) })) }
  return former_emails === undefined ? {} : { leaving: new Map([[id, { former_emails }]]) }
}

function withoutMember(record: OrgRecord, id: string): OrgRecord {
  if (record.members.get(id)?.role === 'owner') requireAnotherOwner(record, id)
  return without(record, id)
}

function without(record: OrgRecord, id: string): OrgRecord {
  return { ...record, members: new Map([...record.members].filter(([other]) => other !== id)) }
}

/** Like `withRole`, but a member who has that role or a higher one keeps it. @throws AppError too_many_members */
export function withRoleAtLeast(...[record, person, role, now]: Parameters<typeof withRole>): OrgRecord {
  const known = record.members.get(person.id)
  return known && includesRole(known.role, role) ? record : withRole(record, person, role, now)
}

/** A change or an end of a member's role. */
interface RoleChange {
  readonly accountId: string
  readonly before: OrgRecord
  readonly after: OrgRecord
  /** True: the member leaves. */
  readonly leaving?: boolean
}

/**
 * Makes a decision about a member overrule earlier invitations. An accepted one that a crash left pending is no longer
 * committed, and no invitation gives back a role that an owner has lowered. Runs under the lock of org.git, like every
 * commit of a membership.
 */
async function overruleInvitations(deps: Services, at: OrgAt, change: RoleChange): Promise<void> {
  const { accountId, before, after, leaving = false } = change
  const { read, write } = deps.credentials
  const [was, is] = [before, after].map(({ members }) => members.get(accountId)?.role)
  const isLowered = !leaving && was !== undefined && (is === undefined || !includesRole(is, was))
  const now = deps.now().toISOString()
  if (isLowered || (await findPendingMembership(read, accountId, at.org_id)))
    await write(async (trx) => {
      // First, because it waits for a use that is being taken. The membership of that use can then be deleted.
      if (isLowered) await insertUsesOfAll(trx, at.org_id, accountId, now)
      await deletePendingMembershipIn(trx, accountId, at.org_id)
    })
  await endInvitationsOf(deps, at, change)
}

/** Deletes an owner's invitations for good when that role ends. Runs under the lock of org.git. */
async function endInvitationsOf(
  { credentials }: Services,
  { org_id: orgId }: OrgAt,
  change: RoleChange,
): Promise<void> {
  const { accountId, before, after } = change
  if (isOwner(before, accountId) && !isOwner(after, accountId))
    await credentials.write((trx) => deleteInvitationsBy(trx, orgId, accountId))
}

function requireAnotherOwner(record: OrgRecord, except: string): void {
  const owners = [...record.members].filter(([id, member]) => member.role === 'owner' && id !== except)
  if (owners.length === 0)
    throw new AppError('last_owner', 'An organisation must have an owner; make another member an owner first')
}
