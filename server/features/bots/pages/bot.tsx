/** One bot: its name, role and tokens. */

import { AppError } from '../../../base/errors.ts'
import * as limits from '../../../base/limits.ts'
import type { AnswerOf } from '../../../http/in-process.ts'
import { type Page, type PageContext, type PageResult, param } from '../../../pages/page-context.ts'
import { readAsMember, SettingsTabs } from '../../../pages/pages/org-settings.tsx'
import { BotMark, BotRoleOptions, botRoleOf } from '../../../pages/parts/bots.tsx'
import { When } from '../../../pages/parts/dates.tsx'
import { Field, field, showFormErrors, submitForm, type Trouble, TroubleOf } from '../../../pages/parts/forms.tsx'
import { countOpen, OrgTabs } from '../../../pages/parts/org-tabs.tsx'
import { type Bot, BotFacts } from './bots.tsx'

type Token = AnswerOf<'listBotTokens'>['tokens'][number]
type Made = AnswerOf<'createBotToken'>

const dayMs = 86_400_000
/** Lifetimes of a token in days. */
const lifetimes = [30, 90, 365] as const

const levels = [
  { access: 'read', may: 'read' },
  { access: 'propose', may: 'read and propose' },
  { access: 'write', may: 'read and change' },
] as const

export function showBot(visit: PageContext): Promise<Page> {
  return botPage(visit)
}

export async function takeBot(visit: PageContext): Promise<PageResult> {
  const { api, form, urls } = visit
  const path = { org_id: param(visit, 'org'), bot_id: param(visit, 'bot') }
  const again = (trouble: Trouble) => botPage(visit, { trouble })
  if (form.get('act') === 'token')
    try {
      return await botPage(visit, { made: await api.createBotToken({ path, body: wanted(form) }) })
    } catch (error) {
      return showFormErrors(error, again)
    }
  return submitForm(again, async () => {
    switch (form.get('act')) {
      case 'change':
        await api.updateBot({ path, body: { name: field(form, 'name').trim(), role: botRoleOf(form) } })
        return `${urls.bot(path.org_id, path.bot_id)}?saved`
      case 'revoke':
        await api.revokeBotToken({ path: { ...path, token_id: field(form, 'token') } })
        return urls.bot(path.org_id, path.bot_id)
      case 'delete':
        await api.deleteBot({ path })
        return `${urls.settings(path.org_id, 'bots')}?deleted`
      default:
        throw new AppError('bad_request', 'The form does not name a known action')
    }
  })
}

function wanted(form: URLSearchParams) {
  const days = lifetimes.find((one) => String(one) === form.get('days'))
  const node = field(form, 'node_id').trim()
  return {
    name: field(form, 'token_name').trim(),
    access: levels.find(({ access }) => access === form.get('access'))?.access ?? 'read',
    ...(node && { node_id: node }),
    ...(days && { expires_at: new Date(Date.now() + days * dayMs).toISOString() }),
  }
}

interface More {
  readonly trouble?: Trouble
  readonly made?: Made
}

/** Reads the bot of the page, for an owner. @throws AppError forbidden, bot_not_found */
async function readBot(visit: PageContext, org_id: string): Promise<{ readonly bot: Bot; readonly tokens: Token[] }> {
  const { api } = visit
  const bot_id = param(visit, 'bot')
  const { bots } = await api.listBots({ path: { org_id }, query: { limit: limits.bots } })
  const bot = bots.find(({ id }) => id === bot_id)
  if (bot === undefined) throw new AppError('bot_not_found', 'The organisation has no such bot')
  const { tokens } = await api.listBotTokens({ path: { org_id, bot_id }, query: { limit: limits.botTokens } })
  return { bot, tokens: [...tokens] }
}

async function botPage(visit: PageContext, { trouble, made }: More = {}): Promise<Page> {
  const { urls, form, query } = visit
  const org = await readAsMember(visit)
  const open = await countOpen(visit, org)
  const { bot, tokens } = await readBot(visit, org.id)
  const action = urls.bot(org.id, bot.id)
  const typed = form.get('act') === 'token' && made === undefined ? form : new URLSearchParams()
  return {
    ...{ kind: 'page', place: { org, crumb: 'Settings' } },
    facts: { org, open, bot, tokens, trouble, made: made?.id },
    head: { title: `${bot.name} · ${org.name}`, noIndex: true },
    body: () => (
      <>
        <OrgTabs {...{ urls, org, open }} here="settings" />
        <main id="main" class="page settings">
          <h1>
            {bot.name} <BotMark />
          </h1>
          <SettingsTabs urls={urls} org={org.id} here="bots" />
          {query.has('saved') && trouble === undefined && <p class="notice">Saved.</p>}
          <p class="why">
            {bot.email} · <BotFacts bot={bot} />
          </p>
          {made && <NewToken made={made} />}
          <TroubleOf trouble={trouble} fields={['name', 'token_name', 'node_id']} />
          <ChangeForm bot={bot} action={action} trouble={trouble} />
          <section>
            <h2>Tokens</h2>
            <TokenList tokens={tokens} action={action} />
            {tokens.length < limits.botTokens && <TokenForm typed={typed} action={action} trouble={trouble} />}
          </section>
          <Deletion bot={bot} action={action} />
        </main>
      </>
    ),
  }
}

function NewToken({ made }: { readonly made: Made }) {
  return (
    <section class="made" aria-label="New token">
      <h2>{made.name}</h2>
      <p>Copy the token now. It is shown only once.</p>
      <p class="copy" data-token>
        {made.token}
      </p>
    </section>
  )
}

interface ActionProps {
  readonly bot: Bot
  readonly action: string
}

function ChangeForm({ bot, action, trouble }: ActionProps & { readonly trouble: Trouble | undefined }) {
  return (
    <form method="post" action={action} class="fields">
      <Field label="Name" hint="[bot] stays at its end" name="name" trouble={trouble}>
        {(tied) => (
          <input
            {...tied}
            required
            maxLength={limits.botName}
            value={bot.name.replace(/\[bot\]$/, '')}
            autocomplete="off"
          />
        )}
      </Field>
      <Field label="Role" name="role">
        {(tied) => (
          <select {...tied}>
            <BotRoleOptions chosen={bot.role ?? 'reader'} />
          </select>
        )}
      </Field>
      <button class="btn go" type="submit" name="act" value="change">
        Save
      </button>
    </form>
  )
}

function TokenList({ tokens, action }: { readonly tokens: readonly Token[]; readonly action: string }) {
  if (tokens.length === 0) return <p>The bot has no tokens yet, so it can do nothing.</p>
  return (
    <ul class="rows">
      {tokens.map((token) => (
        <li>
          <div>
            <strong>{token.name}</strong> <span class="ref">…{token.hint}</span>
            <small>
              <TokenFacts token={token} />
            </small>
          </div>
          <details>
            <summary class="btn" aria-label={`Revoke ${token.name}…`}>
              Revoke…
            </summary>
            <form method="post" action={action} class="ask">
              <p>Anything that uses this token loses access immediately.</p>
              <input type="hidden" name="token" value={token.id} />
              <button type="submit" class="btn stop" name="act" value="revoke">
                Revoke {token.name}
              </button>
            </form>
          </details>
        </li>
      ))}
    </ul>
  )
}

function TokenFacts({ token }: { readonly token: Token }) {
  const { access, node_id, expires_at, last_used_at } = token
  const may = levels.find((level) => level.access === access)?.may ?? access
  return (
    <>
      can {may}
      {node_id !== undefined && ` node ${node_id}`} ·{' '}
      {expires_at === undefined ? (
        'never expires'
      ) : (
        <>
          {Date.parse(expires_at) < Date.now() ? 'expired' : 'expires'} <When time={expires_at} />
        </>
      )}{' '}
      ·{' '}
      {last_used_at === undefined ? (
        'never used'
      ) : (
        <>
          last used <When time={last_used_at} />
        </>
      )}
    </>
  )
}

interface TokenFormProps {
  readonly typed: URLSearchParams
  readonly action: string
  readonly trouble: Trouble | undefined
}

function TokenForm({ typed, action, trouble }: TokenFormProps) {
  const days = typed.get('days') ?? '90'
  return (
    <form method="post" action={action} class="fields">
      <Field label="Name of the token" hint="the program that uses it" name="token_name" trouble={trouble}>
        {(tied) => (
          <input
            {...tied}
            required
            maxLength={limits.displayName}
            value={field(typed, 'token_name')}
            autocomplete="off"
          />
        )}
      </Field>
      <Field label="Access" name="access">
        {(tied) => (
          <select {...tied}>
            {levels.map(({ access, may }) => (
              <option value={access} selected={access === typed.get('access')}>
                {may}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Node" hint="optional: the id of the only page that it can use" name="node_id" trouble={trouble}>
        {(tied) => <input {...tied} maxLength={64} value={field(typed, 'node_id')} autocomplete="off" />}
      </Field>
      <Field label="Expires" name="days">
        {(tied) => (
          <select {...tied}>
            {lifetimes.map((one) => (
              <option value={one} selected={String(one) === days}>
                in {one} days
              </option>
            ))}
            <option value="never" selected={days === 'never'}>
              never
            </option>
          </select>
        )}
      </Field>
      <button class="btn go" type="submit" name="act" value="token">
        Create token
      </button>
    </form>
  )
}

function Deletion({ bot, action }: ActionProps) {
  return (
    <section>
      <h2>Delete this bot</h2>
      <details>
        <summary class="btn stop">Delete…</summary>
        <form method="post" action={action} class="ask">
          <p>Its tokens stop working immediately. Its commits and proposals stay.</p>
          <button type="submit" class="btn stop" name="act" value="delete">
            Delete {bot.name}
          </button>
        </form>
      </details>
    </section>
  )
}
