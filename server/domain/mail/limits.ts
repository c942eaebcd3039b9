/** Limits on mails, so that nobody floods a mailbox or the mail server. */
import { createHash } from 'node:crypto'
import { emailKey } from '../../../index/credentials/accounts.ts'
import type { Limit, LimitMail, NewCounter } from '../../base/counters.ts'

const hour = 3_600

/** Mails with a link for a new password, to one address. */
const resetsInAnHour: Limit = { name: 'mail', quota: 3, windowSeconds: hour }
const resetsInADay: Limit = { name: 'mail', quota: 10, windowSeconds: 24 * hour }
/** Mails that confirm an address, to one address. */
export const verificationsInAnHour: Limit = { name: 'mail', quota: 3, windowSeconds: hour }
const verificationsInADay: Limit = { name: 'mail', quota: 10, windowSeconds: 24 * hour }
/** Invitations by one owner. */
const invitations: Limit = { name: 'mail', quota: 50, windowSeconds: 24 * hour }
/** Mails of all kinds. */
const mails: Limit = { name: 'mail', quota: 60, windowSeconds: 60 }

/** Returns the key of an address in these limits. It does not reveal the address. */
export function mailboxKey(email: string): string {
  return createHash('sha256').update(emailKey(email)).digest('hex').slice(0, 32)
}

export const unlimitedMail: LimitMail = async () => true

export function limitedMail(newCounter: NewCounter): LimitMail {
  const counters = {
    reset: [newCounter('mail resets', resetsInAnHour), newCounter('mail resets in a day', resetsInADay)],
    verify: [
      newCounter('mail verifications', verificationsInAnHour),
      newCounter('mail verifications in a day', verificationsInADay),
    ],
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
