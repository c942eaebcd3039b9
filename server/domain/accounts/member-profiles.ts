/** A user's address and name in the member files of Git. */
import { findAccountById, listAccountsBehind, setMembersUpToDate } from '../../../index/credentials/accounts.ts'
import type { Account } from '../../../index/credentials/schema.ts'
import { listOrgsWithOthers } from '../../../index/derived/org-queries.ts'
import { updateMemberProfile } from '../orgs/members.ts'
import type { Services } from '../services.ts'
import { personOf } from './user-view.ts'

/**
 * Updates member files again after every change of an account. Crashes, faults of the storage, and requests that began
 * before the change may have left old ones.
 */
export async function updateMembersBehind(deps: Services): Promise<void> {
  for (const id of await listAccountsBehind(deps.credentials.read)) {
    if (deps.draining.aborted) return
    const account = await updateMembers(deps, id)
    // Each cell updates its own organisations. The last one finishes.
    if (account !== undefined && !(await deps.placement.isMemberBehind(personOf(account)))) await finish(deps, account)
  }
}

/**
 * Updates the account's member file in each organisation, by one commit each.
 *
 * @returns the account at the start of the update. Undefined: it is gone, or the update failed, which is logged
 */
export async function updateMembers(deps: Services, id: string): Promise<Account | undefined> {
  const account = await findAccountById(deps.credentials.read, id)
  if (account === undefined) return undefined
  try {
    for (const org of await listOrgsWithOthers(deps.index.read, id))
      await updateMemberProfile({ ...deps, actor: personOf(account) }, { org_id: org.id })
    return account
  } catch (error) {
    deps.log.warn({ err: error, account: id }, "an account's member files are not up to date; the next sweep retries")
    return undefined
  }
}

/** Records that the member files are up to date, unless the account has changed again. */
async function finish(deps: Services, { id, email, name, hide_email }: Account): Promise<void> {
  await deps.credentials.write((trx) => setMembersUpToDate(trx, { id, email, name, hide_email }))
}
