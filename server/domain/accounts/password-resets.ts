/** New passwords for users who have lost theirs, by a link in a mail. */

import { findAccountByEmail, lockAccount } from '../../../index/credentials/accounts.ts'
import { listIdentities } from '../../../index/credentials/identities.ts'
import type { Account, Mail } from '../../../index/credentials/schema.ts'
import { deleteOtherResetTokens, insertResetToken } from '../../../index/credentials/sessions.ts'
import * as limits from '../../base/limits.ts'
import { anonymous } from '../actor.ts'
import { audit } from '../audit/audit.ts'
import type { Letter } from '../mail/letter.ts'
import { mailboxKey } from '../mail/limits.ts'
import { hasMail, queueMail } from '../mail/outbox.ts'
import { resetLetter, tokenLink } from '../mail/texts.ts'
import type { Origin } from '../origin.ts'
import type { Services } from '../services.ts'
import type { Body } from '../targets.ts'
import { requireEmail } from './identity.ts'
import { findProvider } from './oidc/providers.ts'
import { hashOf, mailedToken } from './tokens.ts'

/** Milliseconds that a link for a new password works. */
const lifetimeMs = 3_600_000

/** The same for every address. */
const requested = { message: 'If an account has this e-mail address, a mail with a link is on its way' }

/**
 * Asks for a mail with a link that sets a new password. The account is found when the mail is sent, so the request does
 * the same for every address. Over the limit of the address nothing is sent, and the answer is the same.
 *
 * @throws ValidationError email
 */
export async function requestPasswordReset(
  deps: Services,
  { body: { email } }: Body<{ readonly email: string }>,
): Promise<typeof requested> {
  requireEmail(email)
  if (!hasMail(deps)) return requested
  if (await deps.limitMail('reset', mailboxKey(email)))
    await deps.credentials.write((trx) =>
      queueMail(deps, trx, { kind: 'reset', address: email, fields: { origin: JSON.stringify(deps.origin ?? null) } }),
    )
  return requested
}

/** Makes the token of the mail. Earlier tokens of the account end. Undefined: no account may set a password by it. */
export async function writeReset(deps: Services, { id, address, fields }: Mail): Promise<Letter | undefined> {
  const { credentials, config, now } = deps
  const account = await findAccountByEmail(credentials.read, address)
  if (account === undefined || config.publicUrl === undefined || !(await maySetPassword(deps, account)))
    return undefined
  const token = await mailedToken(deps, 'reset_mail', id)
  const hash = hashOf(token)
  const expires_at = new Date(now().getTime() + lifetimeMs).toISOString()
  await credentials.write(async (trx) => {
    await lockAccount(trx, account.id)
    await deleteOtherResetTokens(trx, account.id, hash)
    await insertResetToken(trx, { hash, account_id: account.id, expires_at, used_at: null })
  })
  const target = { type: 'account', id: account.id } as const
  await audit(asked(deps, fields), { action: 'auth.reset_asked', actor: anonymous, accountId: account.id, target })
  return resetLetter(tokenLink(config.publicUrl, 'reset', token))
}

/**
 * An account that signs in only through a provider gets no password by mail. Otherwise a user who has left the company
 * would come back in by a mailbox. Nor does one of a provider that says whose an address is (`_LINK`): it may have given
 * the mailbox to another user.
 */
async function maySetPassword(deps: Services, account: Account): Promise<boolean> {
  const { passwordLogin = true } = deps.config
  if (!passwordLogin || account.disabled_at !== null) return false
  if (account.has_identity === 0) return true
  if (account.has_password === 0) return false
  if (account.email_verified_at === null) return true
  const rows = await listIdentities(deps.credentials.read, account.id, { limit: limits.identities, offset: 0 })
  return !rows.some(({ provider }) => findProvider(deps, provider)?.linksByEmail)
}

/** The audit says how it was asked for, not how the mail was sent. */
function asked(deps: Services, fields: string): Services {
  const { origin }: { origin?: string } = JSON.parse(fields)
  const found: Origin | null = JSON.parse(origin ?? 'null')
  return found === null ? deps : { ...deps, origin: found }
}
