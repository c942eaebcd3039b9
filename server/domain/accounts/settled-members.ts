/**
 * Compares the members of all organisations with the accounts. An organisation may have been closed, or restored, when
 * an account changed or was deleted.
 */
import { listDeletedAmong, listProfiles } from '../../../index/credentials/accounts.ts'
import { listMembersAfter, type MemberAfter } from '../../../index/derived/org-queries.ts'
import { operator } from '../actor.ts'
import { leaveOrg } from '../orgs/members.ts'
import type { Services } from '../services.ts'
import { updateMembers } from './member-profiles.ts'
import { personOf } from './user-view.ts'

/** Members that one step of the job compares. */
const membersAtOnce = 500

const beginning = { user_id: '', org_id: '' }

/** Returns a job that updates members to match their accounts. It returns false if more remain. */
export function createMembersSettlement(): (deps: Services) => Promise<boolean> {
  let after: Pick<MemberAfter, 'user_id' | 'org_id'> = beginning
  return async (deps) => {
    const some = await listMembersAfter(deps.index.read, after, membersAtOnce)
    const isOver = some.length < membersAtOnce
    after = isOver ? beginning : (some.at(-1) ?? beginning)
    await settle(deps, some)
    return isOver
  }
}

async function settle(deps: Services, members: readonly MemberAfter[]): Promise<void> {
  const { read } = deps.credentials
  const ids = [...new Set(members.map(({ user_id }) => user_id))]
  const people = new Map((await listProfiles(read, ids)).map((one) => [one.id, personOf(one)]))
  const behind = members.filter(({ user_id, email, name }) => {
    const person = people.get(user_id)
    return person !== undefined && (person.email !== email || person.name !== name)
  })
  for (const id of new Set(behind.map(({ user_id }) => user_id))) await updateMembers(deps, id)
  // Members without an account may also come from restored mirrors.
  const deleted = new Set(
    await listDeletedAmong(
      read,
      ids.filter((id) => !people.has(id)),
    ),
  )
  for (const member of members.filter(({ user_id }) => deleted.has(user_id))) await takeOut(deps, member)
}

/** Ends the membership of a deleted account. Leaves organisations without another member to the operator. */
async function takeOut(deps: Services, { user_id: accountId, org_id: orgId }: MemberAfter): Promise<void> {
  try {
    if (await leaveOrg(deps, operator, { org_id: orgId }, { accountId, lastOwnerToo: true }))
      deps.log.warn({ account: accountId, orgId }, 'a membership of a deleted account was ended')
  } catch (error) {
    deps.log.warn({ err: error, orgId }, 'a membership of a deleted account could not be ended; it is retried')
  }
}
