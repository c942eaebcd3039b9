/** Tokens of bots. Owners create and revoke them. They outlive the session and the membership of their creator. */

import { countAccessTokens, deleteAccessToken, insertAccessToken } from '../../../index/credentials/access-tokens.ts'
import { lockBot } from '../../../index/credentials/bots.ts'
import { AppError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { authorizeOrg, requireVerifiedEmail } from '../../domain/access.ts'
import {
  type AccessToken,
  expiryOf,
  listTokensOf,
  type NewAccessToken,
  newTokenRow,
  toAccessToken,
} from '../../domain/accounts/access-tokens.ts'
import type { Person } from '../../domain/actor.ts'
import { audit } from '../../domain/audit/audit.ts'
import { authorizeFresh } from '../../domain/indexing/freshness.ts'
import type { Page } from '../../domain/pagination.ts'
import type { Ctx } from '../../domain/services.ts'
import type { Body, BotAt, BotTokenAt, Path, Query } from '../../domain/targets.ts'
import { botAt, botNotFoundError, requireOwnerStill } from './bots.ts'

/** A token of a bot is always limited to its organisation. */
export type NewBotToken = Omit<NewAccessToken, 'org_id'>

/**
 * Creates a token of a bot. Its secret, `token`, is shown only in this answer.
 *
 * @throws ValidationError expires_at in the past
 * @throws AppError org_not_found, forbidden, email_unverified, bot_not_found, node_not_found, too_many_tokens, invalid_token
 */
export async function createBotToken(
  ctx: Ctx<Person>,
  { path, body: { name, access, node_id, expires_at } }: Path<BotAt> & Body<NewBotToken>,
): Promise<AccessToken & { readonly token: string }> {
  await authorizeOrg(ctx, path, 'owner')
  await requireVerifiedEmail(ctx)
  const { id: botId } = await botAt(ctx, path)
  const now = ctx.now()
  const expiry = expires_at === undefined ? null : expiryOf(expires_at, now)
  if (node_id !== undefined) await authorizeFresh(ctx, { org_id: path.org_id, node_id: node_id }, 'owner')
  const { token, row } = newTokenRow(botId, { name, access, org_id: path.org_id, node_id, expiry, now })
  await ctx.credentials.write(async (trx) => {
    // A deletion of the bot waits for this lock, and then deletes the token.
    if ((await lockBot(trx, path.org_id, botId)) === undefined) throw botNotFoundError()
    await requireOwnerStill(ctx, trx, ctx.actor, path)
    if ((await countAccessTokens(trx, botId)) >= limits.botTokens)
      throw new AppError('too_many_tokens', `The bot has ${limits.botTokens} tokens; revoke one that it no longer uses`)
    await insertAccessToken(trx, row)
  })
  await audit(ctx, {
    action: 'bot.token_created',
    actor: ctx.actor,
    orgId: path.org_id,
    target: { type: 'token', id: row.id },
    detail: {
      bot: botId,
      access,
      ...(node_id !== undefined && { node_id }),
      ...(expiry !== null && { expires_at: expiry }),
    },
  })
  return { ...toAccessToken(row), token }
}

/** Lists the tokens of a bot, oldest first. @throws AppError org_not_found, forbidden, bot_not_found */
export async function listBotTokens(ctx: Ctx<Person>, { path, query }: Path<BotAt> & Query<Page>) {
  await authorizeOrg(ctx, path, 'owner')
  return listTokensOf(ctx, (await botAt(ctx, path)).id, query)
}

/**
 * Revokes a token of a bot, from the next request in every process.
 *
 * @throws AppError org_not_found, forbidden, bot_not_found, token_not_found
 */
export async function revokeBotToken(ctx: Ctx<Person>, { path }: Path<BotTokenAt>): Promise<void> {
  await authorizeOrg(ctx, path, 'owner')
  const { id: botId } = await botAt(ctx, path)
  const deleted = await ctx.credentials.write((trx) => deleteAccessToken(trx, botId, path.token_id))
  if (!deleted) throw new AppError('token_not_found', 'Token not found')
  const target = { type: 'token', id: path.token_id } as const
  await audit(ctx, {
    action: 'bot.token_revoked',
    actor: ctx.actor,
    orgId: path.org_id,
    target,
    detail: { bot: botId },
  })
}
