/** The bots of an organisation: accounts for programs. */

import { AppError } from '../../../base/errors.ts'
import * as limits from '../../../base/limits.ts'
import type { AnswerOf } from '../../../http/in-process.ts'
import { type Page, type PageContext, type PageResult, param } from '../../../pages/page-context.ts'
import { readAsMember, SettingsTabs } from '../../../pages/pages/org-settings.tsx'
import { BotMark, BotRoleOptions, botRoleOf } from '../../../pages/parts/bots.tsx'
import { When } from '../../../pages/parts/dates.tsx'
import { Field, field, submitForm, type Trouble, TroubleOf } from '../../../pages/parts/forms.tsx'
import { countOpen, OrgTabs } from '../../../pages/parts/org-tabs.tsx'
import type { Urls } from '../../../pages/urls.ts'

export type Bot = AnswerOf<'listBots'>['bots'][number]

export function showBots(visit: PageContext): Promise<Page> {
  return botsPage(visit)
}

export async function takeBots(visit: PageContext): Promise<PageResult> {
  const { api, form, urls } = visit
  if (form.get('act') !== 'create') throw new AppError('bad_request', 'The form does not name a known action')
  const org_id = param(visit, 'org')
  return submitForm(
    (trouble) => botsPage(visit, trouble),
    async () => {
      const body = { name: field(form, 'name').trim(), role: botRoleOf(form) }
      return urls.bot(org_id, (await api.createBot({ path: { org_id }, body })).id)
    },
  )
}

async function botsPage(visit: PageContext, trouble?: Trouble): Promise<Page> {
  const { api, urls, form, query } = visit
  const org = await readAsMember(visit)
  const open = await countOpen(visit, org)
  const isOwner = org.role === 'owner'
  const bots = isOwner ? (await api.listBots({ path: { org_id: org.id }, query: { limit: limits.bots } })).bots : []
  return {
    ...{ kind: 'page', place: { org, crumb: 'Settings' }, facts: { org, open, bots, trouble } },
    head: { title: `Bots · ${org.name}`, noIndex: true },
    body: () => (
      <>
        <OrgTabs {...{ urls, org, open }} here="settings" />
        <main id="main" class="page settings">
          <h1>Bots</h1>
          <SettingsTabs urls={urls} org={org.id} here="bots" />
          {query.has('deleted') && trouble === undefined && (
            <p class="notice" role="status">
              The bot was deleted.
            </p>
          )}
          <p class="why">
            A bot is an account for a program. The organisation owns it, so it stays when the owner who created it
            leaves.
          </p>
          <TroubleOf trouble={trouble} fields={['name']} />
          {isOwner ? (
            <>
              <BotList bots={bots} org={org.id} urls={urls} />
              {bots.length < limits.bots && (
                <BotForm form={form} action={urls.settings(org.id, 'bots')} trouble={trouble} />
              )}
            </>
          ) : (
            <p>Only owners can see and change bots. Your role: {org.role}.</p>
          )}
        </main>
      </>
    ),
  }
}

function BotList({ bots, org, urls }: { readonly bots: readonly Bot[]; readonly org: string; readonly urls: Urls }) {
  if (bots.length === 0) return <p>There are no bots.</p>
  return (
    <ul class="rows">
      {bots.map((bot) => (
        <li>
          <div>
            <a href={urls.bot(org, bot.id)}>{bot.name}</a> <BotMark />
            <small>
              <BotFacts bot={bot} />
            </small>
          </div>
          <span>{bot.role ?? 'not a member'}</span>
        </li>
      ))}
    </ul>
  )
}

/** Says who created a bot, and when it was last used. */
export function BotFacts({ bot }: { readonly bot: Bot }) {
  const { created_by, created_by_name, created_at, last_seen_at, disabled_at } = bot
  const creator =
    created_by === undefined ? 'restored from a mirror' : `created by ${created_by_name ?? 'a user who is gone'}`
  return (
    <>
      {creator}, <When time={created_at} as="day" /> ·{' '}
      {last_seen_at === undefined ? (
        'never used'
      ) : (
        <>
          last used <When time={last_seen_at} />
        </>
      )}
      {disabled_at !== undefined && ' · disabled by an administrator'}
    </>
  )
}

interface FormProps {
  readonly form: URLSearchParams
  readonly action: string
  readonly trouble: Trouble | undefined
}

function BotForm({ form, action, trouble }: FormProps) {
  return (
    <section>
      <h2>Create a bot</h2>
      <form method="post" action={action} class="fields">
        <Field label="Name" hint="[bot] is added to it" name="name" trouble={trouble}>
          {(tied) => (
            <input {...tied} required maxLength={limits.botName} value={field(form, 'name')} autocomplete="off" />
          )}
        </Field>
        <Field label="Role" name="role">
          {(tied) => (
            <select {...tied}>
              <BotRoleOptions chosen={form.get('role') ?? 'reader'} />
            </select>
          )}
        </Field>
        <button class="btn go" type="submit" name="act" value="create">
          Create bot
        </button>
      </form>
    </section>
  )
}
