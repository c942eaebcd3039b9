/** Changes a user's e-mail address and name, also in Git's member files. */

import {
  findAccountById,
  listAccountsBehind,
  setAccount,
  setEmail,
  setMembersUpToDate,
} from '../../../index/credentials/accounts.ts'
import type { Account } from '../../../index/credentials/schema.ts'
import { deleteResetTokens } from '../../../index/credentials/sessions.ts'
import { listOrgsWithOthers } from '../../../index/derived/org-queries.ts'
import { isDuplicate } from '../../../index/sqlite/database.ts'
import type { Deps } from '../../base/deps.ts'
import type { Person } from '../actor.ts'
import { audit } from '../audit/audit.ts'
import { updateMemberProfile } from '../orgs/members.ts'
import { emailTakenError, readMe } from './accounts.ts'
import { requireAuthorName, requireEmail } from './identity.ts'
import { type PasswordProof, provePassword, requireStillProved } from './password-proof.ts'
import { personOf, type User } from './user-view.ts'

export interface ProfileChange {
  readonly name?: string
  /** For later commits. Existing Git history stays as it is. */
  readonly hide_email?: boolean
}

/** @throws ValidationError name; AppError invalid_token (the account is gone) */
export async function changeMe(deps: Deps, actor: Person, { name, hide_email }: ProfileChange): Promise<User> {
  // A name that was allowed earlier stays.
  if (name !== undefined && name !== actor.name) requireAuthorName(name)
  if (name === undefined && hide_email === undefined) return readMe(deps, actor)
  const change = {
    ...(name === undefined ? {} : { name }),
    ...(hide_email === undefined ? {} : { hide_email: hide_email ? (1 as const) : (0 as const) }),
  }
  await deps.credentials.write((trx) => setAccount(trx, actor.id, { ...change, members_behind: 1 }))
  await updateMembers(deps, actor.id)
  return readMe(deps, actor)
}

export interface EmailChange extends PasswordProof {
  readonly new_email: string
}

/**
 * Changes the e-mail address at once. The service sends no mail, so it cannot have the address confirmed.
 *
 * @throws ValidationError new_email
 * @throws AppError invalid_credentials, rate_limited, email_taken
 */
export async function changeEmail(deps: Deps, actor: Person, { new_email, ...proof }: EmailChange): Promise<User> {
  requireEmail(new_email, 'new_email')
  const account = await provePassword(deps, actor, proof)
  const { id } = account
  const change = deps.credentials.write(async (trx) => {
    await requireStillProved(trx, actor, account)
    await setEmail(trx, id, new_email)
    // Earlier reset tokens were sent to the former address.
    await deleteResetTokens(trx, id)
  })
  await change.catch((error: unknown) => {
    throw isDuplicate(error) ? emailTakenError() : error
  })
  await audit(deps, { action: 'account.email_changed', actor, target: { type: 'account', id } })
  await updateMembers(deps, id)
  return readMe(deps, actor)
}

/**
 * Updates member files again after every change of an account. Crashes, faults of the storage, and requests that began
 * before the change may have left old ones.
 */
export async function updateMembersBehind(deps: Deps): Promise<void> {
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
async function updateMembers(deps: Deps, id: string): Promise<Account | undefined> {
  const account = await findAccountById(deps.credentials.read, id)
  if (account === undefined) return undefined
  try {
    for (const org of await listOrgsWithOthers(deps.index.read, id))
      await updateMemberProfile(deps, personOf(account), { orgId: org.id })
    return account
  } catch (error) {
    deps.log.warn({ err: error, account: id }, "an account's member files are not up to date; the next sweep retries")
    return undefined
  }
}

/** Records that the member files are up to date, unless the account has changed again. */
async function finish(deps: Deps, { id, email, name, hide_email }: Account): Promise<void> {
  await deps.credentials.write((trx) => setMembersUpToDate(trx, { id, email, name, hide_email }))
}
