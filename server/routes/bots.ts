/** Bots of organisations, and their tokens. Responses with secrets are never cached. */
import { createBotToken, listBotTokens, revokeBotToken } from '../domain/accounts/bot-tokens.ts'
import { createBot, deleteBot, listBots, updateBot } from '../domain/accounts/bots.ts'
import type { Handlers } from '../http/contract/operations.ts'
import { createdAt, withSecret } from '../http/responses/responses.ts'

export const botRoutes = {
  createBot: createdAt('/orgs/{org_id}/bots/{id}', createBot),
  listBots,
  updateBot,
  deleteBot,
  createBotToken: withSecret(createdAt('/orgs/{org_id}/bots/{bot_id}/tokens/{id}', createBotToken)),
  listBotTokens,
  revokeBotToken,
} satisfies Partial<Handlers>
