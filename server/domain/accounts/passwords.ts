/** Passwords: argon2id, rate-limited so that threads remain for the file system. */

import { randomBytes } from 'node:crypto'
import { argon2id, hash, verify } from 'argon2'
import type { Deps } from '../../base/deps.ts'
import { Refusal } from '../../base/errors.ts'

/** 19 MiB, two passes, one lane: OWASP's minimum for argon2id. */
const ownCost = { memoryKib: 19 * 1024, passes: 2 } as const

/** Concurrent hashes; they share libuv's threads with all file access. */
const atOnce = 2
/** Waiting hashes per purpose, about two seconds of work. Purposes take turns, so that none starves another. */
const longestQueue = 64

/** Why a password is hashed. `return`: signing in from an address the account has signed in from before. */
export type Purpose = 'return' | 'login' | 'signup' | 'change'

/** The hash of a random password: checking an unknown e-mail takes as long as checking a wrong password. */
export const nobodys =
  '$argon2id$v=19$m=19456,t=2,p=1$zcuF4NXXrcr6Dcz2AEzzOg$LtyOS6Gkq9mI3Royd4+elU6sp1LVAkUOSAh6TUmzUYM'

/** @throws Refusal rate_limited */
export function hashPassword(deps: Deps, purpose: Purpose, password: string): Promise<string> {
  const { memoryKib, passes } = deps.config.passwordCost ?? ownCost
  const cost = { type: argon2id, memoryCost: memoryKib, timeCost: passes, parallelism: 1 }
  return queued(deps, purpose, () => hash(password.normalize('NFC'), cost))
}

/** The hash of a random password that is then discarded. @throws Refusal rate_limited */
export function unknownPassword(deps: Deps): Promise<string> {
  return hashPassword(deps, 'signup', randomBytes(32).toString('base64url'))
}

/** Whether `password` matches `hashed`; never for undefined (an unknown account). @throws Refusal rate_limited */
export function isPassword(
  deps: Deps,
  purpose: Purpose,
  hashed: string | undefined,
  password: string,
): Promise<boolean> {
  return queued(
    deps,
    purpose,
    async () => (await verify(hashed ?? nobodys, password.normalize('NFC'))) && hashed !== undefined,
  )
}

/** Waiting work by purpose; the purpose to be served next comes first. */
const queues = new Map<Purpose, (() => void)[]>()
let running = 0

export function passwordsWaiting(): number {
  return [...queues.values()].reduce((sum, queue) => sum + queue.length, 0)
}

async function queued<R>({ waited }: Deps, purpose: Purpose, work: () => Promise<R>): Promise<R> {
  if (running < atOnce) running++
  else {
    const since = performance.now()
    await turn(purpose)
    waited?.(performance.now() - since)
  }
  try {
    return await work()
  } finally {
    passOn()
  }
}

function turn(purpose: Purpose): Promise<void> {
  const queue = queues.get(purpose) ?? []
  if (queue.length >= longestQueue) throw new Refusal('rate_limited', 'Too many people sign in at this moment')
  queues.set(purpose, queue)
  return new Promise((resolve) => queue.push(resolve))
}

/** Starts the first job of the next purpose and moves that purpose to the end. */
function passOn(): void {
  for (const [purpose, queue] of queues) {
    queues.delete(purpose)
    const next = queue.shift()
    if (queue.length > 0) queues.set(purpose, queue)
    if (next !== undefined) {
      next()
      return
    }
  }
  running--
}
