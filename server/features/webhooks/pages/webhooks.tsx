/** The webhooks of an organisation: URLs to which its events are sent. */

import { AppError } from '../../../base/errors.ts'
import * as limits from '../../../base/limits.ts'
import type { AnswerOf } from '../../../http/in-process.ts'
import type { Page, PageContext, PageResult } from '../../../pages/page-context.ts'
import { readAsMember, SettingsTabs } from '../../../pages/pages/org-settings.tsx'
import { plural, When } from '../../../pages/parts/dates.tsx'
import { Field, field, showFormErrors, type Trouble, TroubleOf } from '../../../pages/parts/forms.tsx'
import { countOpen, OrgTabs } from '../../../pages/parts/org-tabs.tsx'
import type { Urls } from '../../../pages/urls.ts'
import { NewSecret } from './webhook-secret.tsx'
import { eventGroups, stateWord, typesPhrase, type Webhook, whyNot } from './webhook-words.ts'

export function showWebhooks(visit: PageContext): Promise<Page> {
  return webhooksPage(visit)
}

export async function takeWebhooks(visit: PageContext): Promise<PageResult> {
  const { api, form, params } = visit
  if (form.get('act') !== 'create') throw new AppError('bad_request', 'The form does not name a known action')
  const types = eventGroups.map(({ type }) => type).filter((type) => form.getAll('types').includes(type))
  const body = {
    url: field(form, 'url').trim(),
    types: types.length === 0 ? ['*'] : types,
    ordered: form.has('ordered'),
  }
  try {
    const made = await api.createWebhook({ path: { org_id: params.org ?? '' }, body })
    return await webhooksPage(visit, { made })
  } catch (error) {
    return showFormErrors(error, (trouble) => webhooksPage(visit, { trouble }))
  }
}

interface More {
  readonly made?: AnswerOf<'createWebhook'>
  readonly trouble?: Trouble
}

async function webhooksPage(visit: PageContext, { made, trouble }: More = {}): Promise<Page> {
  const { api, urls, form, query } = visit
  const org = await readAsMember(visit)
  const open = await countOpen(visit, org)
  const isOwner = org.role === 'owner'
  const path = { org_id: org.id }
  const webhooks = isOwner ? (await api.listWebhooks({ path, query: { limit: limits.webhooks } })).webhooks : []
  const typed = made === undefined ? form : new URLSearchParams()
  return {
    ...{ kind: 'page', place: { org, crumb: 'Settings' } },
    facts: { org, open, webhooks, trouble, made: made?.id },
    head: { title: `Webhooks · ${org.name}`, noIndex: true },
    body: () => (
      <>
        <OrgTabs {...{ urls, org, open }} here="settings" />
        <main id="main" class="page settings">
          <h1>Webhooks</h1>
          <SettingsTabs urls={urls} org={org.id} here="webhooks" />
          {query.has('deleted') && made === undefined && trouble === undefined && (
            <p class="notice" role="status">
              The webhook was deleted.
            </p>
          )}
          <p class="why">A webhook sends what happens here to a URL, so that another program can act on it.</p>
          {made && <NewSecret name={made.url} secret={made.secret} />}
          <TroubleOf trouble={trouble} fields={['url']} />
          {isOwner ? (
            <>
              <WebhookList {...{ webhooks, urls }} org={org.id} />
              {webhooks.length < limits.webhooks && (
                <section>
                  <h2>Add a webhook</h2>
                  <WebhookForm typed={typed} trouble={trouble} action={urls.settings(org.id, 'webhooks')} />
                </section>
              )}
            </>
          ) : (
            <p>Only owners can see and change webhooks. Your role: {org.role}.</p>
          )}
        </main>
      </>
    ),
  }
}

interface ListProps {
  readonly webhooks: readonly Webhook[]
  readonly org: string
  readonly urls: Urls
}

function WebhookList({ webhooks, org, urls }: ListProps) {
  if (webhooks.length === 0) return <p>There are no webhooks.</p>
  return (
    <ul class="rows webhooks">
      {webhooks.map((webhook) => (
        <li>
          <div>
            <a href={urls.webhook(org, webhook.id)}>{webhook.url}</a>
            <small>
              <span class="hook-state" data-state={webhook.state}>
                {stateWord(webhook)}
              </span>{' '}
              · {typesPhrase(webhook)}
              {webhook.node_id !== undefined && ' of one page'}
              {webhook.pending > 0 && ` · ${plural(webhook.pending, 'event')} waiting`}
              {webhook.last_success_at !== undefined && (
                <>
                  {' '}
                  · last received <When time={webhook.last_success_at} />
                </>
              )}
            </small>
            {whyNot(webhook) !== undefined && <small>{whyNot(webhook)}</small>}
          </div>
        </li>
      ))}
    </ul>
  )
}

interface FormProps {
  readonly typed: URLSearchParams
  readonly trouble: Trouble | undefined
  readonly action: string
}

function WebhookForm({ typed, trouble, action }: FormProps) {
  return (
    <form method="post" action={action} class="fields webhook-form">
      <Field label="URL" hint="a public host, with https" name="url" trouble={trouble}>
        {(tied) => <input {...tied} type="url" value={field(typed, 'url')} required maxLength={limits.webhookUrl} />}
      </Field>
      <fieldset>
        <legend>
          Events <small>If you choose none, all are sent.</small>
        </legend>
        {eventGroups.map(({ type, label }) => (
          <label class="check">
            <input type="checkbox" name="types" value={type} checked={typed.getAll('types').includes(type)} />
            <span>{label}</span>
          </label>
        ))}
      </fieldset>
      <label class="check">
        <input type="checkbox" name="ordered" value="on" checked={typed.has('ordered')} />
        <span>Send one at a time, in the order of the events. One that fails holds up those after it.</span>
      </label>
      <button type="submit" class="btn" name="act" value="create">
        Add webhook
      </button>
    </form>
  )
}
