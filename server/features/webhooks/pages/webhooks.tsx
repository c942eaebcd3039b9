/** The webhooks of an organisation: URLs to which its events are sent. */

import * as limits from '../../../base/limits.ts'
import { Check, type Control, check, line, more } from '../../../pages/kit/controls.tsx'
import { Empty } from '../../../pages/kit/empty.tsx'
import { Collection, Row, Secret } from '../../../pages/kit/parts.tsx'
import { orgFrame } from '../../../pages/kit/scene-frames.tsx'
import { act, settings } from '../../../pages/kit/settings.tsx'
import { param } from '../../../pages/page-context.ts'
import { plural, When } from '../../../pages/parts/dates.tsx'
import { eventGroups, stateWord, typesPhrase, type Webhook, whyNot } from './webhook-words.ts'

interface StateProps {
  readonly state: string
  readonly children: string
}

/** The colour of a state. */
export function StateWord({ state, children }: StateProps) {
  return (
    <span class="hook-state" data-state={state}>
      {children}
    </span>
  )
}

/** The secret of a webhook. */
export function HookSecret({
  of: { url, secret },
}: {
  readonly of: { readonly url: string; readonly secret: string }
}) {
  return (
    <Secret what="secret" title={url} secret={secret}>
      <p>Copy the secret now. It is shown only once. The receiver needs it to verify what it gets.</p>
    </Secret>
  )
}

export const urlControl = line('URL', { hint: 'a public host, with https', most: limits.webhookUrl, type: 'url' })

/** The types of events, as groups. None: all. */
const types: Control<string[]> = {
  start: [],
  read: (texts) => (texts.length === 0 ? ['*'] : eventGroups.flatMap(({ type }) => (texts.includes(type) ? type : []))),
  write: (value) => value,
  draw: ({ name, texts }) => (
    <fieldset class="choice-list">
      <legend>
        Events <small>If you choose none, all are sent.</small>
      </legend>
      {eventGroups.map(({ type, label }) => (
        <Check name={name} value={type} words={label} checked={texts.includes(type)} />
      ))}
    </fieldset>
  ),
}

export const webhooksPage = settings({
  frame: orgFrame('webhooks', 'webhooks'),
  title: 'Webhooks',
  why: 'A webhook sends what happens here to a URL, so that another program can act on it.',
  says: { deleted: 'The webhook was deleted.' },
  read: ({ api }, { org }) => api.listWebhooks({ path: { org_id: org.id }, query: { limit: limits.webhooks } }),
  acts: {
    create: act(
      'Add webhook',
      {
        ...{ url: urlControl, types },
        ...more({
          ordered: check('Send one at a time, in the order of the events. One that fails holds up those after it.'),
        }),
      },
      async (visit, body) => (
        <HookSecret of={await visit.api.createWebhook({ path: { org_id: param(visit, 'org') }, body })} />
      ),
    ),
  },
  view: ({ webhooks }, { form, visit: { urls } }, { org }) => (
    <Collection
      {...{ of: webhooks, most: limits.webhooks, title: 'Add a webhook', form: form('create') }}
      empty={
        <Empty example="webhooks">
          For example, it builds a site again as soon as a page changes, or posts comments in a chat.
        </Empty>
      }
    >
      {(webhook) => (
        <Row
          title={<a href={urls.webhook(org.id, webhook.id)}>{webhook.url}</a>}
          facts={<HookFacts webhook={webhook} />}
        />
      )}
    </Collection>
  ),
})

function HookFacts({ webhook }: { readonly webhook: Webhook }) {
  return (
    <>
      <StateWord state={webhook.state}>{stateWord(webhook)}</StateWord> · {typesPhrase(webhook)}
      {webhook.node_id !== undefined && ' of one page'}
      {webhook.pending > 0 && ` · ${plural(webhook.pending, 'event')} waiting`}
      {webhook.last_success_at !== undefined && (
        <>
          {' '}
          · last received <When time={webhook.last_success_at} />
        </>
      )}
      {whyNot(webhook) !== undefined && <small>{whyNot(webhook)}</small>}
    </>
  )
}
