/** Limits failed sign-ins. Other users' failures do not lock out the addresses that an account has used before. */

import { createHash } from 'node:crypto'
import { emailKey } from '../../../index/credentials/accounts.ts'
import { findAddress } from '../../../index/credentials/addresses.ts'
import type { Account } from '../../../index/credentials/schema.ts'
import type { Attempt, Count, Counter, Limit, LimitSignIn, NewCounter } from '../../base/counters.ts'
import { AppError, RateLimitedError } from '../../base/errors.ts'
import type { Services } from '../services.ts'

/** Per IP address, for accounts that have not signed in from it before. */
const byAddress: Limit = { name: 'sign-in', quota: 30, windowSeconds: 60 }
/** Per account, for all new IP addresses together, and for each known one separately. */
const byAccount: Limit = { name: 'sign-in', quota: 10, windowSeconds: 60 }
/** Per account, for all new IP addresses together. */
const byAccountInADay: Limit = { name: 'sign-in', quota: 100, windowSeconds: 24 * 3600 }

/** Seconds of pause after a limit is exceeded. `shortest` doubles each time within a day, up to `longest`. */
const pauseSeconds = { shortest: 60, longest: 900, forgottenAfter: 24 * 3600 } as const

/** Milliseconds for which an IP address stays known to an account. */
export const addressLifetimeMs = 30 * 24 * 3600 * 1000

export const unlimitedSignIns: LimitSignIn = (_attempt, work) => work()

/** A counter for attempts, and the key under which this attempt is counted. */
interface AttemptCounter {
  readonly what: string
  readonly counter: Counter
  readonly key: string
  /** True if the pause doubles each time the limit is exceeded. */
  readonly doubles: boolean
  /** Attempts in this process, by key. */
  readonly pending: Map<string, Pending>
}

interface Pending {
  /** Undecided attempts. Each promise resolves when its attempt is decided. */
  readonly undecided: Set<Promise<void>>
  /** How many attempts wait for the undecided ones. At most the quota. */
  waiting: number
}

export function limitedSignIns(newCounter: NewCounter): LimitSignIn {
  const countedBy = (id: string, what: string, limit: Limit, doubles = true) => {
    const counter = newCounter(id, limit)
    const pending: AttemptCounter['pending'] = new Map()
    return (key: string): AttemptCounter => ({ what, counter, key, doubles, pending })
  }
  const address = countedBy('sign-in by address', 'from this address', byAddress)
  const known = countedBy('sign-in from a known address', 'to this account', byAccount)
  const strange = countedBy('sign-in', 'to this account', byAccount)
  const strangeInADay = countedBy('sign-in in a day', 'to this account', byAccountInADay, false)
  const excesses = newCounter('sign-in excesses', { ...byAddress, windowSeconds: pauseSeconds.forgottenAfter })

  const tooMany = async ({ what, counter, key, doubles }: AttemptCounter, { limit, taken, waitMs }: Count) => {
    let seconds = Math.ceil(waitMs / 1000)
    if (doubles && taken === limit.quota + 1) {
      const { taken: times } = await excesses.take(key)
      seconds = Math.min(pauseSeconds.shortest * 2 ** (times - 1), pauseSeconds.longest)
      await counter.close(key, seconds)
    }
    return new RateLimitedError(`failed sign-ins ${what}`, limit, Math.min(seconds, pauseSeconds.longest))
  }

  return async ({ from, account }, work) => {
    // Other clients behind a known address do not lock out the account.
    const asked = account?.isKnownFrom === true ? [known(`${account.key} ${from}`)] : [address(from)]
    if (account?.isKnownFrom === false) asked.push(strange(account.key), strangeInADay(account.key))
    const entered: AttemptCounter[] = []
    let decide = () => {}
    const decided = new Promise<void>((resolve) => {
      decide = resolve
    })
    const giveBack = () => Promise.all(entered.map(({ counter, key }) => counter.giveBack(key)))
    try {
      for (const one of asked) {
        const count = await take(one)
        if (count.taken > count.limit.quota) throw await tooMany(one, count)
        entered.push(one)
        enter(one, decided)
      }
      const result = await work()
      await giveBack()
      return result
    } catch (error) {
      if (!isWrongSecret(error)) await giveBack()
      throw error
    } finally {
      for (const one of entered) leave(one, decided)
      decide()
    }
  }
}

/** Counts an attempt. One over the quota waits for the undecided ones, which do not count if they succeed. */
async function take({ counter, key, pending }: AttemptCounter): Promise<Count> {
  for (;;) {
    const count = await counter.take(key)
    const others = pending.get(key)
    if (count.taken <= count.limit.quota || others === undefined || others.waiting >= count.limit.quota) return count
    await counter.giveBack(key)
    others.waiting++
    await Promise.race(others.undecided)
    others.waiting--
  }
}

function enter({ pending, key }: AttemptCounter, decided: Promise<void>): void {
  const others = pending.get(key) ?? { undecided: new Set(), waiting: 0 }
  others.undecided.add(decided)
  pending.set(key, others)
}

function leave({ pending, key }: AttemptCounter, decided: Promise<void>): void {
  const others = pending.get(key)
  others?.undecided.delete(decided)
  if (others?.undecided.size === 0) pending.delete(key)
}

/** Returns the keys of an attempt. Unknown accounts are counted by e-mail address, so they look the same. */
export async function attemptOn(
  deps: Services,
  from: string,
  account: Pick<Account, 'id'> | undefined,
  email = '',
): Promise<Attempt> {
  if (account === undefined) return { from, account: { key: keyOfNobody(email), isKnownFrom: false } }
  const seenAt = await findAddress(deps.credentials.read, account.id, from)
  const isKnownFrom = seenAt !== undefined && deps.now().getTime() - Date.parse(seenAt) < addressLifetimeMs
  return { from, account: { key: account.id, isKnownFrom } }
}

/** Returns one of 65,536 keys, so that invented addresses cannot fill memory. */
function keyOfNobody(email: string): string {
  return `nobody ${createHash('sha256').update(emailKey(email)).digest('hex').slice(0, 4)}`
}

function isWrongSecret(error: unknown): boolean {
  return error instanceof AppError && (error.code === 'invalid_credentials' || error.code === 'invalid_token')
}
