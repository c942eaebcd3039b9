/** Changes a user's e-mail address and name, also in Git's member files. */

import { findActiveProfile, lockAccount, setAccount, setEmail } from '../../../index/credentials/accounts.ts'
import { deleteDigestTurn } from '../../../index/credentials/digests.ts'
import { deleteResetTokens } from '../../../index/credentials/sessions.ts'
import { isDuplicate } from '../../../index/sqlite/database.ts'
import type { Person } from '../actor.ts'
import { audit } from '../audit/audit.ts'
import { hasMail } from '../mail/outbox.ts'
import type { Ctx, RequestCtx } from '../services.ts'
import type { Body } from '../targets.ts'
import { getMe } from './accounts.ts'
import { queueNewAddress, requireFreeEmail, requireMailAllowed } from './email-changes.ts'
import { emailTakenError, requireAuthorName, requireEmail } from './identity.ts'
import { updateMembers } from './member-profiles.ts'
import { mergeNotifications, type Notifications } from './notifications.ts'
import { type PasswordProof, provePassword, requireStillProved } from './password-proof.ts'
import type { User } from './user-view.ts'

export interface ProfileChange {
  readonly name?: string
  /** For later commits. Existing Git history stays as it is. */
  readonly hide_email?: boolean
  /** How often the inbox is mailed. */
  readonly digest?: 'never' | 'daily' | 'weekly'
  /** The reasons to change. */
  readonly notifications?: Notifications
}

/** @throws ValidationError name; AppError invalid_token (the account is gone) */
export async function updateMe(
  ctx: Ctx<Person>,
  { body: { name, hide_email, digest, notifications } }: Body<ProfileChange>,
): Promise<User> {
  // A name that was allowed earlier stays.
  if (name !== undefined && name !== ctx.actor.name) requireAuthorName(name)
  if (digest !== undefined) await setDigest(ctx, digest)
  if (notifications !== undefined) await setNotifications(ctx, notifications)
  if (name === undefined && hide_email === undefined) return getMe(ctx)
  const change = {
    ...(name === undefined ? {} : { name }),
    ...(hide_email === undefined ? {} : { hide_email: hide_email ? (1 as const) : (0 as const) }),
  }
  await ctx.credentials.write((trx) => setAccount(trx, ctx.actor.id, { ...change, members_behind: 1 }))
  await updateMembers(ctx, ctx.actor.id)
  return getMe(ctx)
}

/** Sets how often the inbox is mailed. The next mail comes after a whole period. */
async function setDigest(ctx: Ctx<Person>, digest: 'never' | 'daily' | 'weekly'): Promise<void> {
  await ctx.credentials.write(async (trx) => {
    await setAccount(trx, ctx.actor.id, { digest: digest === 'never' ? null : digest })
    await deleteDigestTurn(trx, ctx.actor.id)
  })
}

async function setNotifications(ctx: Ctx<Person>, change: Notifications): Promise<void> {
  await ctx.credentials.write(async (trx) => {
    await lockAccount(trx, ctx.actor.id)
    const before = await findActiveProfile(trx, ctx.actor.id)
    await setAccount(trx, ctx.actor.id, { notifications: mergeNotifications(before?.notifications ?? null, change) })
  })
}

export interface EmailChange extends PasswordProof {
  readonly new_email: string
}

/** The user, and the address that waits for its confirmation. */
export type ChangedEmail = User & { readonly pending_email?: string }

/**
 * Changes the e-mail address at once if the service sends no mail. Otherwise the new mailbox confirms it first.
 *
 * @throws ValidationError new_email
 * @throws AppError invalid_credentials, rate_limited, email_taken
 */
export async function changeEmail(ctx: RequestCtx<Person>, { body }: Body<EmailChange>): Promise<ChangedEmail> {
  const { new_email } = body
  requireEmail(new_email, 'new_email')
  const account = await provePassword(ctx, body)
  const { id } = account
  await requireFreeEmail(ctx, new_email, id)
  if (hasMail(ctx)) {
    await requireMailAllowed(ctx, new_email)
    await ctx.credentials.write(async (trx) => {
      await requireStillProved(trx, ctx.actor, account)
      await queueNewAddress(ctx, trx, id, new_email)
    })
    return { ...(await getMe(ctx)), pending_email: new_email }
  }
  const change = ctx.credentials.write(async (trx) => {
    await requireStillProved(trx, ctx.actor, account)
    await setEmail(trx, id, new_email)
    // Earlier reset tokens were sent to the former address.
    await deleteResetTokens(trx, id)
  })
  await change.catch((error: unknown) => {
    throw isDuplicate(error) ? emailTakenError() : error
  })
  await audit(ctx, { action: 'account.email_changed', actor: ctx.actor, target: { type: 'account', id } })
  await updateMembers(ctx, id)
  return getMe(ctx)
}
