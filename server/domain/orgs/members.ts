/** Members of an organisation; org.git is the source of truth. */

import { emailKey, findAccountByEmail } from '../../../index/credentials/accounts.ts'
import { listMemberRows, type MemberRow } from '../../../index/derived/org-queries.ts'
import type { Role } from '../../../index/derived/schema.ts'
import type { Deps } from '../../deps.ts'
import { Refusal } from '../../errors.ts'
import { orgFor } from '../access.ts'
import type { Person } from '../actor.ts'
import type { MemberAt, OrgAt } from '../at.ts'
import type { OrgRecord } from '../format/org-format.ts'
import { type Page, pageOf } from '../pagination.ts'
import { changeOrg, requireOwner } from './org-changes.ts'

export type Member = MemberRow

/** Per organisation: each change rewrites the list of member files, 70 bytes a member. */
const maxMembers = 10_000

/** In the order of joining. */
export async function listMembers(deps: Deps, actor: Person, at: OrgAt, page: Page) {
  await orgFor(deps, actor, at, 'reader')
  const { rows, total } = await listMemberRows(deps.index.read, at.orgId, page)
  return { members: rows, ...pageOf(page, total) }
}

/** Adds a person who has an account, or changes a member's role. @throws Refusal account_not_found, last_owner, too_many_members */
export async function putMember(deps: Deps, actor: Person, at: MemberAt, { role }: { role: Role }): Promise<Member> {
  await orgFor(deps, actor, at, 'owner')
  const account = await findAccountByEmail(deps.credentials.read, at.email)
  if (!account) throw new Refusal('account_not_found', 'There is no account with this e-mail address')
  const now = deps.now().toISOString()
  let member: Member = { user_id: account.id, email: account.email, name: account.name, role, created_at: now }
  await changeOrg(deps, actor, at, 'member', (record) => {
    requireOwner(record, actor)
    const known = record.members.get(account.id)
    member = { ...member, created_at: known?.created_at ?? now }
    if (known?.role === role) return record
    if (known?.role === 'owner') requireAnotherOwner(record, account.id)
    if (!known && record.members.size >= maxMembers)
      throw new Refusal('too_many_members', `An organisation has at most ${maxMembers} members; remove some first`)
    const { user_id, ...file } = member
    return { ...record, members: new Map([...record.members, [user_id, file]]) }
  })
  return member
}

/** Owners may remove any member; every member may leave. @throws Refusal member_not_found, last_owner */
export async function removeMember(deps: Deps, actor: Person, at: MemberAt): Promise<void> {
  const { role } = await orgFor(deps, actor, at, 'reader')
  const key = emailKey(at.email)
  const leaving = emailKey(actor.email) === key
  if (!leaving && role !== 'owner') throw new Refusal('forbidden', 'Only an owner removes other members')
  await changeOrg(deps, actor, at, leaving ? 'leave' : 'remove', (record) => {
    const id = [...record.members].find(([, member]) => emailKey(member.email) === key)?.[0]
    if (!id) throw new Refusal('member_not_found', 'There is no member with this e-mail address')
    if (!leaving) requireOwner(record, actor)
    if (record.members.get(id)?.role === 'owner') requireAnotherOwner(record, id)
    return { ...record, members: new Map([...record.members].filter(([other]) => other !== id)) }
  })
}

function requireAnotherOwner(record: OrgRecord, except: string): void {
  const owners = [...record.members].filter(([id, member]) => member.role === 'owner' && id !== except)
  if (owners.length === 0) throw new Refusal('last_owner', 'An organisation keeps at least one owner')
}
