/** The proof that the caller knows the password of their account. */

import { findAccountById } from '../../../index/credentials/accounts.ts'
import type { Account, CredentialsDb } from '../../../index/credentials/schema.ts'
import type { Deps } from '../../base/deps.ts'
import { Refusal } from '../../base/errors.ts'
import { requireSignedIn } from '../access.ts'
import type { Person } from '../actor.ts'
import { holdProved, type ProvedAccount } from './held-accounts.ts'
import { isPassword } from './passwords.ts'
import type { SignInFrom } from './sessions.ts'
import { attemptOn } from './sign-ins.ts'

export interface PasswordProof extends Pick<SignInFrom, 'from'> {
  readonly password: string
}

/** A wrong one counts as a failed sign-in. @throws Refusal invalid_credentials, invalid_token (the account is gone), rate_limited */
export async function provePassword(deps: Deps, actor: Person, { password, from }: PasswordProof): Promise<Account> {
  const account = await readAccount(deps, actor.id)
  return deps.limitSignIn(await attemptOn(deps, from, account), async () => {
    if (await isPassword(deps, 'change', account.password_hash, password)) return account
    throw wrongPassword()
  })
}

/**
 * Whether the proof still holds: the password may have changed, or the session may have ended, while the password was checked.
 * Runs in the transaction of what it allows.
 *
 * @throws Refusal invalid_credentials, invalid_token, account_disabled
 */
export async function requireStillProved(trx: CredentialsDb, actor: Person, proved: ProvedAccount): Promise<void> {
  await holdProved(trx, proved, wrongPassword)
  await requireSignedIn(trx, actor)
}

function wrongPassword(): Refusal {
  return new Refusal('invalid_credentials', 'The password is wrong')
}

/** @throws Refusal invalid_token if the account is gone */
export async function readAccount(deps: Deps, id: string): Promise<Account> {
  const account = await findAccountById(deps.credentials.read, id)
  if (account === undefined) throw new Refusal('invalid_token', 'The account is gone')
  return account
}
