/** The inbox for feed readers. They send no headers, so their token is in the URL. It reads nothing else. */

import { findActiveProfile, lockAccount } from '../../../index/credentials/accounts.ts'
import { deleteFeedToken, findFeedAccount, putFeedToken } from '../../../index/credentials/feed-tokens.ts'
import { invalidTokenError, requireSignedIn } from '../../domain/access.ts'
import { hashOf, newToken } from '../../domain/accounts/tokens.ts'
import { personOf } from '../../domain/accounts/user-view.ts'
import type { Person } from '../../domain/actor.ts'
import { audit } from '../../domain/audit/audit.ts'
import type { Ctx, RequestCtx, Services } from '../../domain/services.ts'
import type { Query } from '../../domain/targets.ts'
import { listInbox } from './inbox.ts'

/** The most items of a feed. */
const mostItems = 50

/** Creates the feed token of the caller. An earlier one ends. @param base the URL of the service */
export async function createFeedToken(ctx: RequestCtx<Person>) {
  const token = newToken('feed')
  const created_at = ctx.now().toISOString()
  await ctx.credentials.write(async (trx) => {
    await lockAccount(trx, ctx.actor.id)
    await requireSignedIn(trx, ctx.actor)
    await putFeedToken(trx, { account_id: ctx.actor.id, hash: hashOf(token), created_at })
  })
  await audit(ctx, { action: 'feed_token.created', actor: ctx.actor, target: { type: 'account', id: ctx.actor.id } })
  return { token, url: `${ctx.request.base}/me/inbox.atom?token=${token}`, created_at }
}

/** Ends the feed token of the caller, if there is one. */
export async function endFeedToken(ctx: Ctx<Person>): Promise<void> {
  await ctx.credentials.write((trx) => deleteFeedToken(trx, ctx.actor.id))
  await audit(ctx, { action: 'feed_token.ended', actor: ctx.actor, target: { type: 'account', id: ctx.actor.id } })
}

/** Reads the newest items of the inbox of a token's user. @throws AppError invalid_token */
export async function getInboxFeed(deps: Services, { query: { token } }: Query<{ readonly token: string }>) {
  const accountId = await findFeedAccount(deps.credentials.read, hashOf(token))
  const profile = accountId === undefined ? undefined : await findActiveProfile(deps.credentials.read, accountId)
  if (!profile) throw invalidTokenError()
  const { items } = await listInbox({ ...deps, actor: personOf(profile) }, { query: { limit: mostItems } })
  return { name: profile.name, items }
}
