/** Bots of organisations, and their tokens. Responses with secrets are never cached. */

import type { Handlers } from '../../http/contract/operations.ts'
import { createdAt, withSecret } from '../../http/responses/responses.ts'
import type { Feature } from '../feature.ts'
import { createBotToken, listBotTokens, revokeBotToken } from './bot-tokens.ts'
import { createBot, deleteBot, listBots, updateBot } from './bots.ts'
import { botPage } from './pages/bot.tsx'
import { botsPage } from './pages/bots.tsx'

const operations = {
  createBot: createdAt('/orgs/{org_id}/bots/{id}', createBot),
  listBots,
  updateBot,
  deleteBot,
  createBotToken: withSecret(createdAt('/orgs/{org_id}/bots/{bot_id}/tokens/{id}', createBotToken)),
  listBotTokens,
  revokeBotToken,
} satisfies Partial<Handlers>

export const bots = {
  operations,
  pages: [
    { at: '/o/{org}/settings/bots', ...botsPage },
    { at: '/o/{org}/settings/bots/{bot}', ...botPage },
  ],
} satisfies Feature
