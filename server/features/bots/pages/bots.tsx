/** The bots of an organisation: accounts for programs. */

import * as limits from '../../../base/limits.ts'
import type { AnswerOf } from '../../../http/in-process.ts'
import { line, question } from '../../../pages/kit/controls.tsx'
import { Collection, Row } from '../../../pages/kit/parts.tsx'
import { orgFrame } from '../../../pages/kit/scene-frames.tsx'
import { act, settings } from '../../../pages/kit/settings.tsx'
import { param } from '../../../pages/page-context.ts'
import { When } from '../../../pages/parts/dates.tsx'
import { roleAnswers } from '../../../pages/parts/roles.tsx'
import { forAssistants, LastUsed } from '../../../pages/parts/tokens.tsx'

export type Bot = AnswerOf<'listBots'>['bots'][number]

export const botControls = {
  name: line('Name', { hint: '[bot] is added to it', most: limits.botName }),
  role: question(
    'May it propose, or publish?',
    roleAnswers.flatMap((answer) => (answer[0] === 'owner' ? [] : [answer])),
    { hint: forAssistants },
  ),
}

export const botsPage = settings({
  frame: orgFrame('bots', 'bots'),
  title: 'Bots',
  why: 'A bot is an account for a program. The organisation owns it, so it stays when the owner who created it leaves.',
  says: { deleted: 'The bot was deleted.' },
  read: ({ api }, { org }) => api.listBots({ path: { org_id: org.id }, query: { limit: limits.bots } }),
  acts: {
    create: act('Create bot', botControls, async (visit, body) => {
      const org_id = param(visit, 'org')
      return visit.urls.bot(org_id, (await visit.api.createBot({ path: { org_id }, body })).id)
    }),
  },
  view: ({ bots }, { form, visit: { urls } }, { org }) => (
    <Collection
      {...{ of: bots, empty: 'This organisation has no bots.', most: limits.bots, title: 'Create a bot' }}
      form={form('create')}
    >
      {(bot) => (
        <Row title={<a href={urls.bot(org.id, bot.id)}>{bot.name}</a>} facts={<BotFacts bot={bot} />}>
          <span>{bot.role ?? 'not a member'}</span>
        </Row>
      )}
    </Collection>
  ),
})

/** Says who created a bot, and when it was last used. */
export function BotFacts({ bot }: { readonly bot: Bot }) {
  const { created_by, created_by_name, created_at, last_seen_at, disabled_at } = bot
  const creator =
    created_by === undefined ? 'restored from a mirror' : `created by ${created_by_name ?? 'a user who is gone'}`
  return (
    <>
      {creator}, <When time={created_at} as="day" /> · <LastUsed time={last_seen_at} />
      {disabled_at !== undefined && ' · disabled by an administrator'}
    </>
  )
}
