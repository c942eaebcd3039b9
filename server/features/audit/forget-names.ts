/** Removes the names of deleted accounts from the events. Their ids stay. */
import { type Forgotten, putForgotten, removeAuditName } from '../../../index/log/audit.ts'
import type { Services } from '../../domain/services.ts'
import { deleteForgotten, findForgotten, listEventsAfterPlace, setEventBody } from './rows/events.ts'

/** Rows that are changed in one transaction. */
const rowsAtOnce = 2_000
/** Events that are read at a time. */
const eventsAtOnce = 1_000

/**
 * Minutes after the deletion at which all events are read. Changes of the user that were being committed are recorded
 * after it, with the name.
 */
const passesAt = [0, 10, 24 * 60] as const

/** Does the next step of removing names from events. Returns false if more remain that are due. */
export async function forgetNames(deps: Services): Promise<boolean> {
  const { events, now } = deps
  const forgotten = await findForgotten(events.read, now().getTime())
  if (forgotten === undefined) return true
  const { user_id, name } = forgotten
  const found = await listEventsAfterPlace(events.read, forgotten, eventsAtOnce)
  const changed = found.flatMap((event) => {
    const isNamed = event.body.includes(user_id) || (name !== '' && event.body.includes(JSON.stringify(name)))
    const body = isNamed ? withoutName(event.body, { id: user_id, name }) : event.body
    return body === event.body ? [] : [{ ...event, body }]
  })
  const last = found.length < eventsAtOnce ? undefined : found.at(-1)
  await events.write(async (trx) => {
    for (const event of changed) await setEventBody(trx, event)
    // A change that was recorded late may also have brought the name into the audit.
    await removeAuditName(trx, user_id, rowsAtOnce)
    if (last) return putForgotten(trx, { ...forgotten, org_id: last.org_id, seq: last.seq })
    const next = nextPass(forgotten)
    return next ? putForgotten(trx, next) : deleteForgotten(trx, user_id)
  })
  return false
}

function nextPass(forgotten: Forgotten): Forgotten | undefined {
  const passes = forgotten.passes + 1
  const minutes = passesAt[passes]
  if (minutes === undefined) return undefined
  return { ...forgotten, passes, due_ms: forgotten.deleted_ms + minutes * 60_000, org_id: '', seq: 0 }
}

interface User {
  readonly id: string
  readonly name: string
}

/**
 * Returns the JSON of an event without the name of the user. An author of commits has no id, so one of the same name
 * also loses it here. Git has it.
 */
export function withoutName(body: string, user: User): string {
  return JSON.stringify(JSON.parse(body), function (this: unknown, key, value: unknown) {
    if (typeof value !== 'string' || value === '') return value
    return (key === 'name' && isOfUser(this, user.id)) || (key === 'author' && value === user.name) ? '' : value
  })
}

function isOfUser(object: unknown, id: string): boolean {
  if (typeof object !== 'object' || object === null) return false
  const { id: own, user_id, account_id } = object as Readonly<Record<string, unknown>>
  return own === id || user_id === id || account_id === id
}
