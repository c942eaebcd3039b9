/** Limits on mails, so that nobody floods a mailbox or the mail server. */
import type { Limit, LimitMail, NewCounter } from '../../base/counters.ts'

const hour = 3_600

/** Mails with a link for a new password, to one address. */
const resetsInAnHour: Limit = { name: 'mail', quota: 3, windowSeconds: hour }
const resetsInADay: Limit = { name: 'mail', quota: 10, windowSeconds: 24 * hour }
/** Invitations by one owner. */
const invitations: Limit = { name: 'mail', quota: 50, windowSeconds: 24 * hour }
/** Mails of all kinds. */
const mails: Limit = { name: 'mail', quota: 60, windowSeconds: 60 }

export const unlimitedMail: LimitMail = async () => true

export function limitedMail(newCounter: NewCounter): LimitMail {
  const counters = {
    reset: [newCounter('mail resets', resetsInAnHour), newCounter('mail resets in a day', resetsInADay)],
    invitation: [newCounter('mail invitations', invitations)],
    all: [newCounter('mail', mails)],
  }
  return async (purpose, key = '') => {
    let isAllowed = true
    for (const counter of counters[purpose]) {
      const { taken, limit } = await counter.take(key)
      isAllowed &&= taken <= limit.quota
    }
    return isAllowed
  }
}
