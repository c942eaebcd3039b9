/** Tokens of mails, without a mail server. */
import { randomUUID } from 'node:crypto'
import { insertEmailToken } from '../../index/credentials/email-tokens.ts'
import type { EmailToken } from '../../index/credentials/schema.ts'
import { hashOf } from '../../server/domain/accounts/tokens.ts'
import type { Grove } from './grove.ts'
import type { PersonClient } from './people.ts'

/** Makes a token that was mailed to the address. Default: that of the user. */
export async function makeEmailToken(
  grove: Pick<Grove, 'deps'>,
  { user }: PersonClient,
  kind: EmailToken['kind'] = 'verify',
  email = user.email,
): Promise<string> {
  const token = `grv_${kind === 'new_address' ? 'verify' : kind}_${randomUUID()}`
  const row = { account_id: user.id, kind, email, email_key: email, expires_at: '9999', used_at: null }
  await grove.deps.credentials.write((trx) => insertEmailToken(trx, { hash: hashOf(token), ...row }))
  return token
}
