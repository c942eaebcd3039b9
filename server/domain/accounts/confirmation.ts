/** Sessions whose user has just proved who they are, instead of by a password. */

import { findProfileOfSession } from '../../../index/credentials/accounts.ts'
import { setSessionConfirmed } from '../../../index/credentials/sessions.ts'
import { AppError } from '../../base/errors.ts'
import type { Person } from '../actor.ts'
import type { Ctx } from '../services.ts'

/** Milliseconds for which a proof holds. */
const confirmedMs = 10 * 60_000

/** True if the session of the request was confirmed within the last minutes. */
async function isConfirmed(ctx: Ctx<Person>): Promise<boolean> {
  if (ctx.actor.sessionId === undefined) return false
  const session = await findProfileOfSession(ctx.credentials.read, ctx.actor.sessionId, ctx.actor.id)
  if (session === undefined || session.confirmed_at === null) return false
  return Math.abs(ctx.now().getTime() - Date.parse(session.confirmed_at)) < confirmedMs
}

/** @throws AppError confirmation_required */
export async function requireConfirmed(ctx: Ctx<Person>): Promise<void> {
  if (await isConfirmed(ctx)) return
  const detail =
    'Confirm first that it is you: sign in again at the service with which you sign in, on your profile page'
  throw new AppError('confirmation_required', detail)
}

export async function confirmSession(ctx: Ctx<Person>): Promise<void> {
  const { sessionId } = ctx.actor
  if (sessionId === undefined) return
  await ctx.credentials.write((trx) => setSessionConfirmed(trx, sessionId, ctx.now().toISOString()))
}
