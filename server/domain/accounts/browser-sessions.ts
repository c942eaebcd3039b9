/** Sessions of browsers: a random secret in a cookie goes on with a session in place of refresh tokens. Only its hash is stored. */

import { findProfileOfSession } from '../../../index/credentials/accounts.ts'
import {
  deleteRefreshTokens,
  findSessionOfCookie,
  setSessionCookie,
  setSessionRevoked,
} from '../../../index/credentials/sessions.ts'
import type { Deps } from '../../base/deps.ts'
import { AppError } from '../../base/errors.ts'
import type { Person } from '../actor.ts'
import { findSessionPerson } from './session-list.ts'
import { hashOf, newToken } from './tokens.ts'

const secretForm = /^grv_browser_[\w-]{43}$/

export function isBrowserSecret(text: string): boolean {
  return secretForm.test(text)
}

/**
 * A secret with which the session of the person goes on; its refresh tokens end.
 *
 * @throws AppError invalid_credentials: the session has ended; Error where the person has none
 */
export async function createBrowserSession(deps: Deps, { id, sessionId }: Person): Promise<string> {
  if (sessionId === undefined) throw new Error('Only a session is kept in a browser')
  const secret = newToken('browser')
  await deps.credentials.write(async (trx) => {
    if ((await findProfileOfSession(trx, sessionId, id)) === undefined) throw sessionEndedError()
    await setSessionCookie(trx, sessionId, hashOf(secret))
    await deleteRefreshTokens(trx, sessionId)
  })
  return secret
}

/** A change of the password may end a session that has just been opened. */
export function sessionEndedError(): AppError {
  return new AppError('invalid_credentials', 'The session was ended during the sign-in; sign in again')
}

/** Undefined if the session has ended or was not used for too long, or its account is disabled or gone. */
export async function findPersonOfBrowser(deps: Deps, secret: string): Promise<Person | undefined> {
  const session = await findSessionOfCookie(deps.credentials.read, hashOf(secret), deps.now().toISOString())
  return session && findSessionPerson(deps, session.account_id, session.id)
}

/** Ends the session of the secret. Does nothing for an unknown one. */
export async function deleteBrowserSession(deps: Deps, secret: string): Promise<void> {
  const now = deps.now().toISOString()
  await deps.credentials.write(async (trx) => {
    const session = await findSessionOfCookie(trx, hashOf(secret), now)
    if (session !== undefined) await setSessionRevoked(trx, session.id, now)
  })
}
