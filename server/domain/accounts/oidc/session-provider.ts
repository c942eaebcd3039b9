/** The provider through which a session was opened. */

import { findIdentityOfSession } from '../../../../index/credentials/identities.ts'
import type { Deps } from '../../../base/deps.ts'
import type { Person } from '../../actor.ts'
import { findProvider, type Provider } from './providers.ts'

export async function providerOfSession(deps: Deps, { sessionId }: Person): Promise<Provider | undefined> {
  if (sessionId === undefined) return undefined
  const identity = await findIdentityOfSession(deps.credentials.read, sessionId)
  return identity && findProvider(deps, identity.provider)
}
