/** Tokens of mails, without a mail server. */
import { randomUUID } from 'node:crypto'
import { insertEmailToken } from '../../index/credentials/email-tokens.ts'
import { hashOf } from '../../server/domain/accounts/tokens.ts'
import type { Grove } from './grove.ts'
import type { PersonClient } from './people.ts'

/** Makes a token that confirms the user's address. */
export async function makeEmailToken(grove: Pick<Grove, 'deps'>, { user }: PersonClient): Promise<string> {
  const token = `grv_verify_${randomUUID()}`
  const { id, email } = user
  const row = { account_id: id, kind: 'verify' as const, email, email_key: email, expires_at: '9999', used_at: null }
  await grove.deps.credentials.write((trx) => insertEmailToken(trx, { hash: hashOf(token), ...row }))
  return token
}
