/** Accounts that a transaction holds, judged as they are at that moment. */

import { holdAccount } from '../../../index/credentials/accounts.ts'
import type { Account, CredentialsDb } from '../../../index/credentials/schema.ts'
import { Refusal } from '../../base/errors.ts'

/** An account, and the hash of the password that its person has proved or set. */
export type ProvedAccount = Pick<Account, 'id' | 'password_hash'>

/** @throws Refusal account_disabled, also if it was deleted meanwhile */
export async function holdActive(trx: CredentialsDb, id: string): Promise<Account> {
  const account = await holdAccount(trx, id)
  if (account === undefined || account.disabled_at !== null) throw disabled()
  return account
}

/**
 * Runs in the transaction of whatever the password allows: checking a password takes long, and it may change meanwhile.
 *
 * @throws Refusal account_disabled; of `refuse`: the password has changed since it was proved
 */
export async function holdProved(trx: CredentialsDb, proved: ProvedAccount, refuse: () => Refusal): Promise<void> {
  const { password_hash } = await holdActive(trx, proved.id)
  if (password_hash !== proved.password_hash) throw refuse()
}

function disabled(): Refusal {
  return new Refusal('account_disabled', 'The account is disabled; ask the operator')
}
