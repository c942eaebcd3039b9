/** Browser sessions use a random secret in a cookie instead of refresh tokens. Only its hash is stored. */

import { findProfileOfSession } from '../../../index/credentials/accounts.ts'
import {
  deleteRefreshTokens,
  findSessionOfCookie,
  setSessionCookie,
  setSessionRevoked,
} from '../../../index/credentials/sessions.ts'
import { AppError } from '../../base/errors.ts'
import type { Person } from '../actor.ts'
import type { Ctx, Services } from '../services.ts'
import { findSessionPerson } from './session-list.ts'
import { auditSignOut } from './sessions.ts'
import { hashOf, newToken } from './tokens.ts'

const secretForm = /^grv_browser_[\w-]{43}$/

export function isBrowserSecret(text: string): boolean {
  return secretForm.test(text)
}

/**
 * Creates a secret that continues the user's session. Its refresh tokens end.
 *
 * @throws AppError invalid_credentials if the session has ended
 * @throws Error if the user has no session
 */
export async function createBrowserSession(ctx: Ctx<Person>): Promise<string> {
  const { id, sessionId } = ctx.actor
  if (sessionId === undefined) throw new Error('Only a session can be kept in a browser')
  const secret = newToken('browser')
  await ctx.credentials.write(async (trx) => {
    if ((await findProfileOfSession(trx, sessionId, id)) === undefined) throw sessionEndedError()
    await setSessionCookie(trx, sessionId, hashOf(secret))
    await deleteRefreshTokens(trx, sessionId)
  })
  return secret
}

/** Returns the error for a new session that a change of the password has ended. */
export function sessionEndedError(): AppError {
  return new AppError('invalid_credentials', 'The session ended during the sign-in; sign in again')
}

/**
 * Returns the user of a secret. Undefined: the session has ended or was unused for too long, or its account is disabled
 * or gone.
 */
export async function findPersonOfBrowser(deps: Services, secret: string): Promise<Person | undefined> {
  const session = await findSessionOfCookie(deps.credentials.read, hashOf(secret), deps.now().toISOString())
  return session && findSessionPerson(deps, session.account_id, session.id)
}

/** Ends the session of the secret. Does nothing for an unknown one. */
export async function deleteBrowserSession(deps: Services, secret: string): Promise<void> {
  const now = deps.now().toISOString()
  const ended = await deps.credentials.write(async (trx) => {
    const session = await findSessionOfCookie(trx, hashOf(secret), now)
    if (session !== undefined) await setSessionRevoked(trx, session.id, now)
    return session
  })
  if (ended) await auditSignOut(deps, ended.account_id, ended.id)
}
