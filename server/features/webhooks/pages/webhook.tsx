/** One webhook: its state, its last deliveries, and what owners do with it. */

import type { ComponentChildren } from 'preact'
import { AppError } from '../../../base/errors.ts'
import * as limits from '../../../base/limits.ts'
import type { AnswerOf } from '../../../http/in-process.ts'
import { type Page, type PageContext, type PageResult, param, redirect } from '../../../pages/page-context.ts'
import { readAsMember, SettingsTabs } from '../../../pages/pages/org-settings.tsx'
import { plural, When } from '../../../pages/parts/dates.tsx'
import { Field, field, showFormErrors, type Trouble, TroubleOf } from '../../../pages/parts/forms.tsx'
import { countOpen, OrgTabs } from '../../../pages/parts/org-tabs.tsx'
import { Pages, pageOffset } from '../../../pages/parts/paging.tsx'
import type { Urls } from '../../../pages/urls.ts'
import { NewSecret } from './webhook-secret.tsx'
import { type Delivery, outcomePhrase, stateWord, typesPhrase, type Webhook, whyNot } from './webhook-words.ts'

/** Deliveries on a page. */
const size = 20

/** Notices after an act, by the value in the query. */
const notices: Readonly<Record<string, string>> = {
  changed: 'Saved.',
  off: 'Nothing more is sent until you turn it on.',
  on: 'It is on, and gets what it missed.',
  skipped: 'It is on, and gets only what happens after this.',
  again: 'All that failed is sent again.',
  one: 'It is sent again.',
}

const pathOf = ({ params }: PageContext) => ({ org_id: params.org ?? '', webhook_id: params.webhook ?? '' })

export function showWebhook(visit: PageContext): Promise<Page> {
  return webhookPage(visit)
}

export async function takeWebhook(visit: PageContext): Promise<PageResult> {
  const { api, form, urls } = visit
  const path = pathOf(visit)
  const back = (saved: string) => redirect(303, `${urls.webhook(path.org_id, path.webhook_id)}?saved=${saved}`)
  const change = async (body: Parameters<typeof api.updateWebhook>[0]['body'], saved: string) => {
    await api.updateWebhook({ path, body })
    return back(saved)
  }
  try {
    switch (form.get('act')) {
      case 'url':
        return await change({ url: field(form, 'url').trim() }, 'changed')
      case 'off':
        return await change({ active: false }, 'off')
      case 'on':
        return await change({ active: true }, 'on')
      case 'skip':
        return await change({ active: true, from: 'now' }, 'skipped')
      case 'again':
        await api.redeliverFailed({ path, body: { since: '1970-01-01T00:00:00Z' } })
        return back('again')
      case 'ping':
        return await webhookPage(visit, { ping: await api.pingWebhook({ path }) })
      case 'rotate':
        return await webhookPage(visit, { rotated: await api.rotateWebhookSecret({ path }) })
      case 'delete':
        await api.deleteWebhook({ path })
        return redirect(303, `${urls.settings(path.org_id, 'webhooks')}?deleted`)
      default:
        throw new AppError('bad_request', 'The form does not name a known action')
    }
  } catch (error) {
    return showFormErrors(error, (trouble) => webhookPage(visit, { trouble }))
  }
}

interface More {
  readonly trouble?: Trouble
  readonly ping?: AnswerOf<'pingWebhook'>
  readonly rotated?: AnswerOf<'rotateWebhookSecret'>
}

async function webhookPage(visit: PageContext, { trouble, ping, rotated }: More = {}): Promise<Page> {
  const { api, urls, form, query } = visit
  const org = await readAsMember(visit)
  const open = await countOpen(visit, org)
  const path = pathOf(visit)
  const webhook = await api.getWebhook({ path })
  const offset = pageOffset(query.get('from'))
  const { deliveries, total } = await api.listDeliveries({ path, query: { limit: size, offset } })
  const action = urls.webhook(org.id, webhook.id)
  const isActed = trouble !== undefined || ping !== undefined || rotated !== undefined
  const notice = isActed ? undefined : notices[query.get('saved') ?? '']
  const url = form.get('act') === 'url' ? field(form, 'url') : webhook.url
  return {
    ...{ kind: 'page', place: { org, crumb: 'Settings' } },
    facts: { org, open, webhook, deliveries, total, trouble, ping, notice, rotated: rotated?.previous_secret_until },
    head: { title: `Webhook · ${org.name}`, noIndex: true },
    body: () => (
      <>
        <OrgTabs {...{ urls, org, open }} here="settings" />
        <main id="main" class="page settings">
          <h1>Webhook</h1>
          <SettingsTabs urls={urls} org={org.id} here="webhooks" />
          {notice !== undefined && (
            <p class="notice" role="status">
              {notice}
            </p>
          )}
          {ping && <PingLine ping={ping} />}
          {rotated && <NewSecret name={webhook.url} secret={rotated.secret} />}
          <TroubleOf trouble={trouble} fields={['url']} />
          <StateLines webhook={webhook} />
          <Acts webhook={webhook} action={action} />
          <section>
            <h2>Deliveries</h2>
            <DeliveryList deliveries={deliveries} webhook={webhook} urls={urls} />
            <Pages base={action} {...{ offset, size, total }} />
          </section>
          <section>
            <h2>Change</h2>
            <form method="post" action={action} class="fields webhook-form">
              <Field label="URL" name="url" trouble={trouble}>
                {(tied) => <input {...tied} type="url" value={url} required maxLength={limits.webhookUrl} />}
              </Field>
              <button type="submit" class="btn" name="act" value="url">
                Save
              </button>
            </form>
          </section>
          <Confirmed action={action} />
        </main>
      </>
    ),
  }
}

function PingLine({ ping: { status, ms, error } }: { readonly ping: AnswerOf<'pingWebhook'> }) {
  if (error === undefined)
    return (
      <p class="notice" role="status">
        The test event arrived: status {status}, {ms} ms.
      </p>
    )
  return (
    <p class="problem" role="alert">
      The test event did not arrive. {error}
    </p>
  )
}

function StateLines({ webhook }: { readonly webhook: Webhook }) {
  const { url, node_id, ordered, pending, failing_since, next_attempt_at, previous_secret_until } = webhook
  return (
    <div class="webhook">
      <p>
        <span class="hook-state" data-state={webhook.state}>
          {stateWord(webhook)}
        </span>{' '}
        <span class="hook-url">{url}</span>
      </p>
      <p class="why">
        Gets {typesPhrase(webhook)}
        {node_id !== undefined && ' of one page'}
        {ordered && ', one at a time and in order'}. {pending > 0 && `${plural(pending, 'event')} waiting. `}
        {failing_since !== undefined && (
          <>
            Failing since <When time={failing_since} />.{' '}
          </>
        )}
        {next_attempt_at !== undefined && (
          <>
            Next attempt: <Moment time={next_attempt_at} />.{' '}
          </>
        )}
        {previous_secret_until !== undefined && (
          <>
            The previous secret also signs until <Moment time={previous_secret_until} />.
          </>
        )}
      </p>
      {whyNot(webhook) !== undefined && <p class="problem">{whyNot(webhook)}</p>}
    </div>
  )
}

/** A time that may be on another day. */
function Moment({ time }: { readonly time: string }) {
  return (
    <>
      <When time={time} as="day" />, <When time={time} as="clock" />
    </>
  )
}

function Acts({ webhook: { state, reason }, action }: { readonly webhook: Webhook; readonly action: string }) {
  const canTurnOn = state === 'disabled' && reason !== 'secret_lost'
  const act = (value: string, text: string) => (
    <button type="submit" class="btn" name="act" value={value}>
      {text}
    </button>
  )
  return (
    <form method="post" action={action} class="acts">
      {act('ping', 'Send a test event')}
      {canTurnOn && act('on', 'Turn on')}
      {canTurnOn && act('skip', 'Turn on without what was missed')}
      {state === 'paused' && act('on', 'Try again now')}
      {state === 'paused' && act('skip', 'Leave out what waits')}
      {state !== 'disabled' && act('off', 'Turn off')}
      {act('again', 'Send again what failed')}
    </form>
  )
}

interface ListProps {
  readonly deliveries: readonly Delivery[]
  readonly webhook: Webhook
  readonly urls: Urls
}

function DeliveryList({ deliveries, webhook: { org_id, id }, urls }: ListProps) {
  if (deliveries.length === 0) return <p>Nothing was sent yet.</p>
  return (
    <ul class="rows deliveries">
      {deliveries.map((delivery) => (
        <li>
          <div>
            <a href={urls.delivery(org_id, id, delivery.id)}>{delivery.type}</a>{' '}
            <small>
              <span class="hook-state" data-state={delivery.state}>
                {outcomePhrase(delivery)}
              </span>{' '}
              · <When time={delivery.last_attempt_at ?? delivery.created_at} />
            </small>
            {delivery.error !== undefined && <small>{delivery.error}</small>}
          </div>
        </li>
      ))}
    </ul>
  )
}

/** The acts that need a confirmation. */
function Confirmed({ action }: { readonly action: string }) {
  return (
    <div class="webhook-ends">
      <Ask action={action} act="rotate" label="Replace the secret" isStop={false}>
        For 24 hours, messages are signed with both secrets.
      </Ask>
      <Ask action={action} act="delete" label="Delete webhook" isStop>
        Its deliveries are deleted, and nothing more is sent.
      </Ask>
    </div>
  )
}

interface AskProps {
  readonly action: string
  readonly act: string
  readonly label: string
  readonly isStop: boolean
  readonly children: ComponentChildren
}

function Ask({ action, act, label, isStop, children }: AskProps) {
  const look = isStop ? 'btn stop' : 'btn'
  return (
    <details>
      <summary class={look}>{label}…</summary>
      <form method="post" action={action} class="ask">
        <p>{children}</p>
        <button type="submit" class={look} name="act" value={act}>
          {label}
        </button>
      </form>
    </details>
  )
}

export function showDelivery(visit: PageContext): Promise<Page> {
  return deliveryPage(visit)
}

export async function takeDelivery(visit: PageContext): Promise<PageResult> {
  const { api, form, urls } = visit
  if (form.get('act') !== 'again') throw new AppError('bad_request', 'The form does not name a known action')
  const path = { ...pathOf(visit), delivery_id: param(visit, 'delivery') }
  await api.redeliverDelivery({ path })
  return redirect(303, `${urls.webhook(path.org_id, path.webhook_id)}?saved=one`)
}

async function deliveryPage(visit: PageContext): Promise<Page> {
  const { api, urls } = visit
  const org = await readAsMember(visit)
  const open = await countOpen(visit, org)
  const path = { ...pathOf(visit), delivery_id: param(visit, 'delivery') }
  const delivery = await api.getDelivery({ path })
  const { request, response, error } = delivery
  return {
    ...{ kind: 'page', place: { org, crumb: 'Settings' }, facts: { org, open, delivery } },
    head: { title: `${delivery.type} · ${org.name}`, noIndex: true },
    body: () => (
      <>
        <OrgTabs {...{ urls, org, open }} here="settings" />
        <main id="main" class="page settings">
          <h1>{delivery.type}</h1>
          <SettingsTabs urls={urls} org={org.id} here="webhooks" />
          <p>
            <a href={urls.webhook(org.id, path.webhook_id)}>All deliveries</a>
          </p>
          <p>
            {outcomePhrase(delivery)} · created <When time={delivery.created_at} as="on" />
          </p>
          {error !== undefined && <p class="problem">{error}</p>}
          <form method="post" action={urls.delivery(org.id, path.webhook_id, delivery.id)} class="acts">
            <button type="submit" class="btn" name="act" value="again">
              Send again
            </button>
          </form>
          <section>
            <h2>Request</h2>
            <pre class="message">
              {Object.entries(request.headers)
                .map(([name, value]) => `${name}: ${value}\n`)
                .join('')}
            </pre>
            {request.body === undefined ? (
              <p>The log no longer has the event.</p>
            ) : (
              <pre class="message">{JSON.stringify(JSON.parse(request.body), null, 2)}</pre>
            )}
          </section>
          {response && (
            <section>
              <h2>Answer</h2>
              <p>Status {response.status}</p>
              {response.body !== '' && <pre class="message">{response.body}</pre>}
            </section>
          )}
        </main>
      </>
    ),
  }
}
