/** Words for webhooks and their deliveries. */

import { eventNouns } from '../../../base/event-types.ts'
import type { AnswerOf } from '../../../http/in-process.ts'

export type Webhook = AnswerOf<'getWebhook'>
export type Delivery = AnswerOf<'listDeliveries'>['deliveries'][number]

/** The groups of events that the form offers, with what they are about. */
export const eventGroups = Object.entries(eventNouns).flatMap(([noun, label]) =>
  label === undefined ? [] : [{ type: `${noun}.*`, label }],
)

const reasons: Readonly<Record<NonNullable<Webhook['reason']>, string>> = {
  by_owner: 'An owner turned it off.',
  gone: 'The receiver answered 410, so it wants no more events.',
  failing: 'Nothing arrived for 5 days.',
  revoked: 'The user who added or enabled it is no longer an owner, or the token or program that did so has ended.',
  secret_lost: 'Its secret cannot be read, because the key of the service has changed. Replace the secret.',
}

const stateWords: Readonly<Record<Webhook['state'], string>> = {
  active: 'On',
  paused: 'Failing, retried later',
  disabled: 'Off',
}

/** The state of a webhook in a few words, for its label. */
export function stateWord({ state }: Webhook): string {
  return stateWords[state]
}

/** Why a webhook sends nothing now; undefined if it sends. */
export function whyNot({ state, reason }: Webhook): string | undefined {
  if (reason !== undefined) return reasons[reason]
  return state === 'paused'
    ? 'The last attempt failed. One event is tried again and again, and the others wait.'
    : undefined
}

/** The types of a webhook as a phrase. */
export function typesPhrase({ types }: Pick<Webhook, 'types'>): string {
  return types.includes('*') ? 'all events' : types.join(', ')
}

/** The outcome of a delivery in a few words. */
export function outcomePhrase({ state, attempts, status, ms }: Delivery): string {
  const answered = status === undefined ? (attempts === 0 ? 'not sent yet' : 'no answer') : `status ${status}`
  return [
    ...[state, answered],
    ...(ms === undefined ? [] : [`${ms} ms`]),
    ...(attempts > 1 ? [`${attempts} attempts`] : []),
  ].join(' · ')
}
