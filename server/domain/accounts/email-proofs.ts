/** Proofs that users read the mailbox of their address: tokens that are mailed to it. */

import { findAccountById, lockAccount, setAccount } from '../../../index/credentials/accounts.ts'
import { deleteEmailTokensUntil, findEmailToken } from '../../../index/credentials/email-tokens.ts'
import type { Account, CredentialsDb, EmailToken, Mail } from '../../../index/credentials/schema.ts'
import { AppError, RateLimitedError } from '../../base/errors.ts'
import type { Person } from '../actor.ts'
import { audit } from '../audit/audit.ts'
import type { Letter } from '../mail/letter.ts'
import { mailboxKey, verificationsInAnHour } from '../mail/limits.ts'
import { hasMail, queueMail } from '../mail/outbox.ts'
import { tokenLink, verificationLetter } from '../mail/texts.ts'
import type { Ctx, RequestCtx, Services } from '../services.ts'
import type { Body } from '../targets.ts'
import { confirmNewAddress } from './email-changes.ts'
import { issueEmailToken } from './email-tokens.ts'
import { auditFailure } from './failed-sign-ins.ts'
import { readAccount } from './password-proof.ts'
import { hashOf } from './tokens.ts'
import { personOf } from './user-view.ts'

/** Milliseconds that a link to confirm an address works. */
const verifyMs = 3 * 24 * 3_600_000

type Mailbox = Pick<Account, 'id' | 'email'>

/** Returns a function that writes the mail to confirm an address. It runs in the transaction of the cause. */
export async function verificationFor(
  deps: Services,
  { id, email }: Mailbox,
): Promise<(trx: CredentialsDb) => Promise<void>> {
  const isAllowed = hasMail(deps) && (await deps.limitMail('verify', mailboxKey(email)))
  if (!isAllowed) return async () => {}
  return (trx) => queueMail(deps, trx, { kind: 'verify', accountId: id, address: email })
}

/**
 * Sends the mail that confirms the caller's address again.
 *
 * @throws AppError forbidden (the service sends no mail), rate_limited
 */
export async function requestVerification(ctx: Ctx<Person>): Promise<{ readonly message: string }> {
  const account = await readAccount(ctx, ctx.actor.id)
  if (account.email_verified_at !== null) return { message: 'Your e-mail address is confirmed already' }
  if (!hasMail(ctx)) throw new AppError('forbidden', 'This service sends no mail; ask the operator')
  if (!(await ctx.limitMail('verify', mailboxKey(account.email))))
    throw new RateLimitedError('mails to this address', verificationsInAnHour, verificationsInAnHour.windowSeconds)
  const mail = { kind: 'verify', accountId: account.id, address: account.email } as const
  await ctx.credentials.write((trx) => queueMail(ctx, trx, mail))
  return { message: 'A mail with a link is on its way to your e-mail address' }
}

/** Undefined: the address is confirmed already, or is no longer that of the account. */
export async function writeVerification(deps: Services, mail: Mail): Promise<Letter | undefined> {
  const { publicUrl } = deps.config
  const account = mail.account_id === null ? undefined : await findAccountById(deps.credentials.read, mail.account_id)
  if (publicUrl === undefined || account === undefined || account.disabled_at !== null) return undefined
  if (account.email !== mail.address || account.email_verified_at !== null) return undefined
  const token = await issueEmailToken(deps, mail, { id: account.id, kind: 'verify', lifetimeMs: verifyMs })
  return verificationLetter(tokenLink(publicUrl, 'verify', token))
}

export interface EmailProof {
  readonly token: string
}

export interface VerifiedEmail {
  readonly message: string
  readonly email: string
}

/**
 * Confirms the address to which the token was mailed. A change of address then takes effect. A repetition has the same answer. A wrong token counts as a
 * failed sign-in.
 *
 * @throws AppError invalid_token, email_taken, rate_limited
 */
export function verifyEmail(ctx: RequestCtx, { body: { token } }: Body<EmailProof>): Promise<VerifiedEmail> {
  const { from } = ctx.request
  return ctx.limitSignIn({ from }, async () => {
    const row = await findEmailToken(ctx.credentials.read, hashOf(token), ctx.now().toISOString())
    const account = row && (await (row.kind === 'new_address' ? confirmNewAddress : confirm)(ctx, row))
    if (account === undefined) {
      await auditFailure(ctx, { from, proof: 'email_token' })
      throw new AppError('invalid_token', 'The token is unknown or expired, or a newer mail has replaced it')
    }
    return { message: 'The e-mail address is confirmed', email: account.email }
  })
}

/** Undefined: the token is of another kind, or the account has another address. */
async function confirm(deps: Services, { kind, account_id, email_key }: EmailToken): Promise<Account | undefined> {
  if (kind !== 'verify') return undefined
  const found = await deps.credentials.write(async (trx) => {
    const account = await lockAccount(trx, account_id)
    if (account?.email_key !== email_key || account.disabled_at !== null) return undefined
    const isNew = account.email_verified_at === null
    if (isNew) await setAccount(trx, account.id, { email_verified_at: deps.now().toISOString() })
    return { account, isNew }
  })
  if (found?.isNew) {
    const { account } = found
    const target = { type: 'account', id: account.id } as const
    await audit(deps, { action: 'account.email_verified', actor: personOf(account), target })
  }
  return found?.account
}

/** Deletes tokens that have expired. */
export async function forgetEmailTokens({ credentials, now }: Services): Promise<void> {
  await credentials.write((trx) => deleteEmailTokensUntil(trx, now().toISOString()))
}
