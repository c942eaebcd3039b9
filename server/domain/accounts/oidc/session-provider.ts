/** The provider through which a session was opened. */

import { findIdentityOfSession } from '../../../../index/credentials/identities.ts'
import type { Person } from '../../actor.ts'
import type { Ctx } from '../../services.ts'
import { findProvider, type Provider } from './providers.ts'

export async function providerOfSession(ctx: Ctx<Person>): Promise<Provider | undefined> {
  if (ctx.actor.sessionId === undefined) return undefined
  const identity = await findIdentityOfSession(ctx.credentials.read, ctx.actor.sessionId)
  return identity && findProvider(ctx, identity.provider)
}
