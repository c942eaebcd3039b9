/** Members of an organisation; org.git is the source of truth. */

import { emailKey, findAccountByEmail, findAccountById } from '../../../index/credentials/accounts.ts'
import { deleteInvitationsBy, insertUsesOfAll } from '../../../index/credentials/invitations.ts'
import { deletePendingMembershipIn, findPendingMembership } from '../../../index/credentials/pending-memberships.ts'
import type { Account } from '../../../index/credentials/schema.ts'
import { listMemberRows, type MemberRow } from '../../../index/derived/org-queries.ts'
import type { Role } from '../../../index/derived/schema.ts'
import type { Deps } from '../../base/deps.ts'
import { AppError } from '../../base/errors.ts'
import { authorizeOrg, includesRole } from '../access.ts'
import type { Operator, Person } from '../actor.ts'
import { emailInGit, parseHiddenEmail } from '../format/hidden-emails.ts'
import type { OrgRecord } from '../format/org-format.ts'
import type { Author } from '../format/signatures.ts'
import { type Page, pageOf } from '../pagination.ts'
import type { MemberAt, OrgAt } from '../targets.ts'
import { changeOrg, isOwner, requireOwner } from './org-changes.ts'

export type Member = MemberRow

/** Per organisation: each change rewrites the list of member files, 70 bytes a member. */
const maxMembers = 10_000

/** In the order of joining. */
export async function listMembers(deps: Deps, actor: Person, at: OrgAt, page: Page) {
  await authorizeOrg(deps, actor, at, 'reader')
  const { rows, total } = await listMemberRows(deps.index.read, at.orgId, page)
  return { members: rows, ...pageOf(page, total) }
}

/**
 * Adds a person who has an account, or changes a member's role. The operator needs no role, so that an organisation without
 * an owner gets one.
 *
 * @throws AppError account_not_found, last_owner, too_many_members
 */
export async function putMember(
  deps: Deps,
  actor: Person | Operator,
  at: MemberAt,
  { role }: { role: Role },
): Promise<Member> {
  if (actor.kind === 'person') await authorizeOrg(deps, actor, at, 'owner')
  const account = await findAccountAt(deps, at)
  if (!account) throw new AppError('account_not_found', 'There is no account with this e-mail address')
  const { id: user_id, name } = account
  const email = emailInGit(account)
  const now = deps.now()
  let created_at = now.toISOString()
  await changeOrg(deps, actor, at, 'member', async (record) => {
    if (actor.kind === 'person') requireOwner(record, actor)
    const changed = withRole(record, { id: user_id, email, name }, role, now)
    await overruleInvitations(deps, at, { accountId: user_id, before: record, after: changed })
    created_at = changed.members.get(user_id)?.created_at ?? created_at
    return changed
  })
  return { user_id, email, name, role, created_at }
}

/**
 * The record in which that person has `role`; the same record if they have it already. Who is a member keeps the time of
 * joining.
 *
 * @throws AppError last_owner, too_many_members
 */
function withRole(
  record: OrgRecord,
  { id, email, name }: { readonly id: string; readonly email: string; readonly name: string },
  role: Role,
  now: Date,
): OrgRecord {
  const known = record.members.get(id)
  if (known?.role === role) return record
  if (known?.role === 'owner') requireAnotherOwner(record, id)
  if (!known && record.members.size >= maxMembers)
    throw new AppError('too_many_members', `An organisation has at most ${maxMembers} members; remove some first`)
  // Keys of a later version stay.
  const file = { ...known, email, name, role, created_at: known?.created_at ?? now.toISOString() }
  return { ...record, members: new Map([...record.members, [id, file]]) }
}

/** The account of an address: of its own, or of the one that stands for it in Git. */
async function findAccountAt(deps: Deps, { email }: MemberAt): Promise<Account | undefined> {
  const id = parseHiddenEmail(email)
  const { read } = deps.credentials
  return id === undefined ? findAccountByEmail(read, email) : findAccountById(read, id)
}

/** Owners may remove any member; every member may leave. @throws AppError member_not_found, last_owner */
export async function removeMember(deps: Deps, actor: Person, at: MemberAt): Promise<void> {
  const { role } = await authorizeOrg(deps, actor, at, 'reader')
  const key = emailKey(at.email)
  const account = await findAccountAt(deps, at)
  const leaving = account === undefined ? emailKey(actor.email) === key : account.id === actor.id
  if (!leaving && role !== 'owner') throw new AppError('forbidden', 'Only an owner removes other members')
  await changeOrg(deps, actor, at, leaving ? 'leave' : 'remove', async (record) => {
    const named = [...record.members].find(([, member]) => emailKey(member.email) === key)?.[0]
    const id = account !== undefined && record.members.has(account.id) ? account.id : named
    if (!id) throw new AppError('member_not_found', 'There is no member with this e-mail address')
    if (!leaving) requireOwner(record, actor)
    const changed = withoutMember(record, id)
    await overruleInvitations(deps, at, { accountId: id, before: record, after: changed, leaving })
    return changed
  })
}

/**
 * Takes the account out of the organisation, unless nobody else is in it; does nothing if it is not a member. `lastOwnerToo`:
 * also the last owner, for an account that no longer exists; the operator then appoints another owner.
 *
 * @returns false: nobody else is in it, and nothing has changed
 * @throws AppError org_not_found, last_owner
 */
export async function leaveOrg(
  deps: Deps,
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

/** Whether the account is the only member. */
export function isAloneIn({ members }: OrgRecord, accountId: string): boolean {
  return members.size === 1 && members.has(accountId)
}

/** Writes the person's name and address into their member file, where they are a member and it has others. */
export async function updateMemberProfile(deps: Deps, person: Person, at: OrgAt): Promise<void> {
  const { id, email, name } = person
  await changeOrg(deps, person, at, 'email', (record) => {
    const known = record.members.get(id)
    if (known === undefined || (known.email === email && known.name === name)) return record
    return { ...record, members: new Map([...record.members, [id, { ...known, email, name }]]) }
  })
}

function withoutMember(record: OrgRecord, id: string): OrgRecord {
  if (record.members.get(id)?.role === 'owner') requireAnotherOwner(record, id)
  return without(record, id)
}

function without(record: OrgRecord, id: string): OrgRecord {
  return { ...record, members: new Map([...record.members].filter(([other]) => other !== id)) }
}

/** The same, but who has that role or a higher one keeps it. @throws AppError too_many_members */
export function withRoleAtLeast(...[record, person, role, now]: Parameters<typeof withRole>): OrgRecord {
  const known = record.members.get(person.id)
  return known && includesRole(known.role, role) ? record : withRole(record, person, role, now)
}

/** How a change ends a member's role, or changes it. */
interface RoleChange {
  readonly accountId: string
  readonly before: OrgRecord
  readonly after: OrgRecord
  /** True: the person leaves. */
  readonly leaving?: boolean
}

/**
 * A decision about a member counts more than invitations from before it: of one accepted before, what a crash has left is not
 * committed any more, and none gives back a role that an owner has lowered. Under the lock of org.git, as whatever commits it.
 */
async function overruleInvitations(deps: Deps, at: OrgAt, change: RoleChange): Promise<void> {
  const { accountId, before, after, leaving = false } = change
  const { read, write } = deps.credentials
  const [was, is] = [before, after].map(({ members }) => members.get(accountId)?.role)
  const isLowered = !leaving && was !== undefined && (is === undefined || !includesRole(is, was))
  const now = deps.now().toISOString()
  if (isLowered || (await findPendingMembership(read, accountId, at.orgId)))
    await write(async (trx) => {
      // First: it waits for a use that is taken at this moment, whose membership is then there to be deleted.
      if (isLowered) await insertUsesOfAll(trx, at.orgId, accountId, now)
      await deletePendingMembershipIn(trx, accountId, at.orgId)
    })
  await endInvitationsOf(deps, at, change)
}

/** An owner's invitations end with that role, for good. Under the lock of org.git. */
async function endInvitationsOf({ credentials }: Deps, { orgId }: OrgAt, change: RoleChange): Promise<void> {
  const { accountId, before, after } = change
  if (isOwner(before, accountId) && !isOwner(after, accountId))
    await credentials.write((trx) => deleteInvitationsBy(trx, orgId, accountId))
}

function requireAnotherOwner(record: OrgRecord, except: string): void {
  const owners = [...record.members].filter(([id, member]) => member.role === 'owner' && id !== except)
  if (owners.length === 0) throw new AppError('last_owner', 'An organisation keeps at least one owner')
}
