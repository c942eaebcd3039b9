/** Failed sign-ins in the audit: one row an hour for each account and IP address. */
import { createHash } from 'node:crypto'
import { emailKey } from '../../../index/credentials/accounts.ts'
import type { Account } from '../../../index/credentials/schema.ts'
import { anonymous, type Person } from '../actor.ts'
import { auditRepeat } from '../audit/audit.ts'
import type { Services } from '../services.ts'

interface Failure {
  /** Undefined: there is none, or it is not known. */
  readonly account?: Pick<Account, 'id'> | undefined
  readonly email?: string
  /** The caller's network. */
  readonly from: string
  readonly proof: 'password' | 'reset_token' | 'email_token'
  /** The signed-in user who had to prove it. */
  readonly actor?: Person
}

/** Counts a failure. The e-mail address of an unknown account is only recorded as a hash, because it may be a password. */
export async function auditFailure(deps: Services, failure: Failure): Promise<void> {
  const { account, email, from, proof, actor = anonymous } = failure
  const hash = account === undefined && email !== undefined ? hashOfEmail(email) : undefined
  await auditRepeat(
    deps,
    {
      action: 'auth.failed',
      actor,
      outcome: 'failure',
      ...(account && { accountId: account.id, target: { type: 'account', id: account.id } }),
      detail: { proof, ...(hash !== undefined && { email_sha256: hash }) },
    },
    { per: 'hour', key: `${account?.id ?? hash ?? ''} ${proof} ${from}` },
  )
}

function hashOfEmail(email: string): string {
  return createHash('sha256').update(emailKey(email)).digest('hex').slice(0, 32)
}
