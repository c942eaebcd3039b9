/** Tokens that are made when a mail is sent. */
import { emailKey, lockAccount } from '../../../index/credentials/accounts.ts'
import { deleteOtherEmailTokens, insertEmailToken } from '../../../index/credentials/email-tokens.ts'
import { deleteMailsOf } from '../../../index/credentials/mail.ts'
import type { CredentialsDb, EmailToken, Mail } from '../../../index/credentials/schema.ts'
import type { Services } from '../services.ts'
import { hashOf, mailedToken } from './tokens.ts'

interface Issued {
  /** The account. */
  readonly id: string
  readonly kind: EmailToken['kind']
  readonly lifetimeMs: number
}

/** Makes the token of a mail that proves the mailbox. Earlier tokens of this kind end. */
export async function issueEmailToken(deps: Services, mail: Mail, { id, kind, lifetimeMs }: Issued): Promise<string> {
  const token = await mailedToken(deps, 'verify', mail.id)
  const expires_at = new Date(deps.now().getTime() + lifetimeMs).toISOString()
  const of = { hash: hashOf(token), account_id: id, kind }
  const row = { ...of, email: mail.address, email_key: emailKey(mail.address), expires_at, used_at: null }
  await deps.credentials.write(async (trx) => {
    await lockAccount(trx, id)
    await deleteOtherEmailTokens(trx, of)
    await insertEmailToken(trx, row)
  })
  return token
}

/** Drops a change of the address that is not confirmed. The new mailbox may be a thief's. */
export async function dropAddressChange(trx: CredentialsDb, accountId: string): Promise<void> {
  await deleteOtherEmailTokens(trx, { account_id: accountId, kind: 'new_address', hash: '' })
  await deleteMailsOf(trx, accountId, 'new_address')
}
