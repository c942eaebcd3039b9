/** Bots of organisations, and their tokens. Responses with secrets are never cached. */
import * as tokens from '../domain/accounts/bot-tokens.ts'
import * as bots from '../domain/accounts/bots.ts'
import type { HandlersOf } from '../http/contract/operations.ts'
import { noStore, withHeaders } from '../http/responses/responses.ts'

export const botRoutes: HandlersOf<
  'createBot' | 'listBots' | 'updateBot' | 'deleteBot' | 'createBotToken' | 'listBotTokens' | 'revokeBotToken'
> = {
  createBot: async (ctx, { path, body }) => {
    const bot = await bots.createBot(ctx, path, body)
    return withHeaders(bot, { Location: `/orgs/${path.org_id}/bots/${bot.id}` })
  },
  listBots: (ctx, { path, query }) => bots.listBots(ctx, path, query),
  updateBot: (ctx, { path, body }) => bots.updateBot(ctx, path, body),
  deleteBot: (ctx, { path }) => bots.deleteBot(ctx, path),
  createBotToken: async (ctx, { path, body }) => {
    const token = await tokens.createBotToken(ctx, path, body)
    const location = `/orgs/${path.org_id}/bots/${path.bot_id}/tokens/${token.id}`
    return withHeaders(token, { ...noStore, Location: location })
  },
  listBotTokens: (ctx, { path, query }) => tokens.listBotTokens(ctx, path, query),
  revokeBotToken: (ctx, { path }) => tokens.revokeBotToken(ctx, path),
}
