/** One bot: its name, role and tokens. */

import { AppError } from '../../../base/errors.ts'
import * as limits from '../../../base/limits.ts'
import { hidden } from '../../../pages/kit/controls.tsx'
import { Secret, Section } from '../../../pages/kit/parts.tsx'
import { orgFrame } from '../../../pages/kit/scene-frames.tsx'
import { act, settings } from '../../../pages/kit/settings.tsx'
import { type PageContext, param } from '../../../pages/page-context.ts'
import { BotMark } from '../../../pages/parts/bots.tsx'
import { Tokens, tokenControls } from '../../../pages/parts/tokens.tsx'
import { BotFacts, botControls } from './bots.tsx'

const pathOf = (visit: PageContext) => ({ org_id: param(visit, 'org'), bot_id: param(visit, 'bot') })

export const botPage = settings({
  frame: orgFrame('bots'),
  says: { change: 'Saved.' },
  async read(visit) {
    const { org_id, bot_id } = pathOf(visit)
    const { bots } = await visit.api.listBots({ path: { org_id }, query: { limit: limits.bots } })
    const bot = bots.find(({ id }) => id === bot_id)
    if (bot === undefined) throw new AppError('bot_not_found', 'The organisation has no such bot')
    const query = { limit: limits.botTokens }
    return { bot, tokens: (await visit.api.listBotTokens({ path: { org_id, bot_id }, query })).tokens }
  },
  title: ({ bot }) => bot.name,
  acts: {
    change: act('Save', botControls, (visit, body) => visit.api.updateBot({ path: pathOf(visit), body })),
    token: act('Create token', tokenControls, async (visit, body) => {
      const { name, token } = await visit.api.createBotToken({ path: pathOf(visit), body })
      return <Secret what="token" title={name} secret={token} />
    }),
    revoke: act(
      'Revoke',
      { token_id: hidden },
      (visit, { token_id }) => visit.api.revokeBotToken({ path: { ...pathOf(visit), token_id } }),
      'stop',
    ),
    delete: act(
      'Delete',
      {},
      async (visit) => {
        await visit.api.deleteBot({ path: pathOf(visit) })
        return `${visit.urls.settings(param(visit, 'org'), 'bots')}?saved=deleted`
      },
      'stop',
    ),
  },
  view: ({ bot, tokens }, { form, ask }) => (
    <>
      <p class="why">
        <BotMark /> {bot.email} · <BotFacts bot={bot} />
      </p>
      {form('change', { values: { name: bot.name.replace(/\[bot\]$/, ''), ...(bot.role && { role: bot.role }) } })}
      <Section title="Tokens">
        <Tokens
          {...{ tokens, empty: 'The bot has no tokens yet, so it can do nothing.', most: limits.botTokens }}
          place={({ node_id }) => node_id && `node ${node_id}`}
          form={form('token')}
        >
          {({ id, name }, question) => ask('revoke', question, { values: { token_id: id }, of: name })}
        </Tokens>
      </Section>
      <Section title="Delete this bot">
        {ask('delete', 'Its tokens stop working immediately. Its commits and proposals stay.')}
      </Section>
    </>
  ),
})
