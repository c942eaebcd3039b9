/** One webhook: its state, its last deliveries, and what owners do with it. */

import type { AnswerOf } from '../../../http/in-process.ts'
import { Notice, Row, Rows, Section } from '../../../pages/kit/parts.tsx'
import { orgFrame } from '../../../pages/kit/scene-frames.tsx'
import { act, settings } from '../../../pages/kit/settings.tsx'
import { type PageContext, param } from '../../../pages/page-context.ts'
import { plural, When } from '../../../pages/parts/dates.tsx'
import { Pages, pageOffset } from '../../../pages/parts/paging.tsx'
import { outcomePhrase, stateWord, typesPhrase, type Webhook, whyNot } from './webhook-words.ts'
import { HookSecret, StateWord, urlControl } from './webhooks.tsx'

/** Deliveries on a page. */
const size = 20

const pathOf = (visit: PageContext) => ({ org_id: param(visit, 'org'), webhook_id: param(visit, 'webhook') })
const deliveryOf = (visit: PageContext) => ({ ...pathOf(visit), delivery_id: param(visit, 'delivery') })

type Change = Parameters<PageContext['api']['updateWebhook']>[0]['body']
const change = (body: Change) => (visit: PageContext) => visit.api.updateWebhook({ path: pathOf(visit), body })
const on = change({ active: true })
const skip = change({ active: true, from: 'now' })

export const webhookPage = settings({
  frame: orgFrame('webhooks'),
  title: 'Webhook',
  says: {
    url: 'Saved.',
    off: 'Nothing more is sent until you turn it on.',
    on: 'It is on, and gets what it missed.',
    retry: 'It is on, and gets what it missed.',
    skip: 'It is on, and gets only what happens after this.',
    leave: 'It is on, and gets only what happens after this.',
    again: 'All that failed is sent again.',
    one: 'It is sent again.',
  },
  async read(visit) {
    const path = pathOf(visit)
    const offset = pageOffset(visit.query.get('from'))
    const webhook = await visit.api.getWebhook({ path })
    return { webhook, ...(await visit.api.listDeliveries({ path, query: { limit: size, offset } })) }
  },
  acts: {
    ping: act('Send a test event', {}, async (visit) => (
      <Ping of={await visit.api.pingWebhook({ path: pathOf(visit) })} />
    )),
    on: act('Turn on', {}, on),
    skip: act('Turn on without what was missed', {}, skip),
    retry: act('Try again now', {}, on),
    leave: act('Leave out what waits', {}, skip),
    off: act('Turn off', {}, change({ active: false })),
    again: act('Send again what failed', {}, (visit) =>
      visit.api.redeliverFailed({ path: pathOf(visit), body: { since: '1970-01-01T00:00:00Z' } }),
    ),
    url: act('Save', { url: urlControl }, (visit, body) => change(body)(visit)),
    rotate: act('Replace the secret', {}, async (visit) => {
      const path = pathOf(visit)
      const { secret } = await visit.api.rotateWebhookSecret({ path })
      return <HookSecret of={{ ...(await visit.api.getWebhook({ path })), secret }} />
    }),
    delete: act(
      'Delete webhook',
      {},
      async (visit) => {
        await visit.api.deleteWebhook({ path: pathOf(visit) })
        return `${visit.urls.settings(param(visit, 'org'), 'webhooks')}?saved=deleted`
      },
      'stop',
    ),
  },
  view: ({ webhook, deliveries, offset, total }, { form, ask, visit: { urls } }, { org }) => (
    <>
      <StateLines webhook={webhook} />
      <div class="acts">
        {form('ping')}
        {actsOf(webhook).map((name) => form(name))}
        {form('again')}
      </div>
      <Section title="Deliveries">
        <Rows of={deliveries} empty="Nothing was sent yet.">
          {(delivery) => (
            <Row
              title={<a href={urls.delivery(org.id, webhook.id, delivery.id)}>{delivery.type}</a>}
              facts={
                <>
                  <StateWord state={delivery.state}>{outcomePhrase(delivery)}</StateWord> ·{' '}
                  <When time={delivery.last_attempt_at ?? delivery.created_at} />
                  {delivery.error !== undefined && <small>{delivery.error}</small>}
                </>
              }
            />
          )}
        </Rows>
        <Pages base={urls.webhook(org.id, webhook.id)} {...{ offset, size, total }} />
      </Section>
      <Section title="Change">{form('url', { values: { url: webhook.url } })}</Section>
      <div class="webhook-ends">
        {ask('rotate', 'For 24 hours, messages are signed with both secrets.')}
        {ask('delete', 'Its deliveries are deleted, and nothing more is sent.')}
      </div>
    </>
  ),
})

function actsOf({ state, reason }: Webhook): readonly ('on' | 'skip' | 'retry' | 'leave' | 'off')[] {
  if (state === 'disabled') return reason === 'secret_lost' ? [] : ['on', 'skip']
  return state === 'paused' ? ['retry', 'leave', 'off'] : ['off']
}

function Ping({ of: { status, ms, error } }: { readonly of: AnswerOf<'pingWebhook'> }) {
  if (error === undefined)
    return (
      <Notice>
        The test event arrived: status {status}, {ms} ms.
      </Notice>
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
        <StateWord state={webhook.state}>{stateWord(webhook)}</StateWord> <span class="hook-url">{url}</span>
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

export const deliveryPage = settings({
  frame: orgFrame('webhooks'),
  read: (visit) => visit.api.getDelivery({ path: deliveryOf(visit) }),
  title: ({ type }) => type,
  acts: {
    again: act('Send again', {}, async (visit) => {
      await visit.api.redeliverDelivery({ path: deliveryOf(visit) })
      return `${visit.urls.webhook(param(visit, 'org'), param(visit, 'webhook'))}?saved=one`
    }),
  },
  view: ({ error, request, response, ...delivery }, { form, visit }, { org }) => (
    <>
      <p>
        <a href={visit.urls.webhook(org.id, param(visit, 'webhook'))}>All deliveries</a>
      </p>
      <p>
        {outcomePhrase(delivery)} · created <When time={delivery.created_at} as="on" />
      </p>
      {error !== undefined && <p class="problem">{error}</p>}
      {form('again')}
      <Section title="Request">
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
      </Section>
      {response && (
        <Section title="Answer">
          <p>Status {response.status}</p>
          {response.body !== '' && <pre class="message">{response.body}</pre>}
        </Section>
      )}
    </>
  ),
})
