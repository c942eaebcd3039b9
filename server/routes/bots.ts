/** Bots of organisations, and their tokens. Responses with secrets are never cached. */
import * as tokens from '../domain/accounts/bot-tokens.ts'
import * as bots from '../domain/accounts/bots.ts'
import type { HandlersOf } from '../http/contract/operations.ts'
import { noStore, withHeaders } from '../http/responses/responses.ts'

export const botRoutes: HandlersOf<
  'createBot' | 'listBots' | 'updateBot' | 'deleteBot' | 'createBotToken' | 'listBotTokens' | 'revokeBotToken'
> = {
  createBot: async (deps, actor, { path, body }) => {
    const bot = await bots.createBot(deps, actor, path, body)
    return withHeaders(bot, { Location: `/orgs/${path.org_id}/bots/${bot.id}` })
  },
  listBots: (deps, actor, { path, query }) => bots.listBots(deps, actor, path, query),
  updateBot: (deps, actor, { path, body }) => bots.updateBot(deps, actor, path, body),
  deleteBot: (deps, actor, { path }) => bots.deleteBot(deps, actor, path),
  createBotToken: async (deps, actor, { path, body }) => {
    const token = await tokens.createBotToken(deps, actor, path, body)
    const location = `/orgs/${path.org_id}/bots/${path.bot_id}/tokens/${token.id}`
    return withHeaders(token, { ...noStore, Location: location })
  },
  listBotTokens: (deps, actor, { path, query }) => tokens.listBotTokens(deps, actor, path, query),
  revokeBotToken: (deps, actor, { path }) => tokens.revokeBotToken(deps, actor, path),
}
