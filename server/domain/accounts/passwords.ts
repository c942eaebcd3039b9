/** Passwords: argon2id, at a pace that leaves threads for the file system. */

import { argon2id, hash, verify } from 'argon2'
import type { Deps } from '../../deps.ts'
import { Refusal } from '../../errors.ts'

/** 19 MiB, two passes, one lane: OWASP's minimum for argon2id. */
const ownCost = { memoryKib: 19 * 1024, passes: 2 } as const

/** At once, because they share libuv's threads with every file. */
const atOnce = 2
/** That may wait for one purpose, about two seconds; each purpose has its turn, so that none keeps out another. */
const longestQueue = 64

/** What a password is looked at for. `return`: signing in from where the account was signed in to before. */
export type Purpose = 'return' | 'login' | 'signup' | 'change'

/** The hash of a password that nobody knows, so that an unknown e-mail takes as long as a wrong password. */
const nobodys = '$argon2id$v=19$m=19456,t=2,p=1$zcuF4NXXrcr6Dcz2AEzzOg$LtyOS6Gkq9mI3Royd4+elU6sp1LVAkUOSAh6TUmzUYM'

/** @throws Refusal rate_limited */
export function hashPassword({ config }: Deps, purpose: Purpose, password: string): Promise<string> {
  const { memoryKib, passes } = config.passwordCost ?? ownCost
  const cost = { type: argon2id, memoryCost: memoryKib, timeCost: passes, parallelism: 1 }
  return queued(purpose, () => hash(password.normalize('NFC'), cost))
}

/** Whether `password` is the one of `hashed`; undefined, for an unknown account, is never. @throws Refusal rate_limited */
export function isPassword(purpose: Purpose, hashed: string | undefined, password: string): Promise<boolean> {
  return queued(
    purpose,
    async () => (await verify(hashed ?? nobodys, password.normalize('NFC'))) && hashed !== undefined,
  )
}

/** Who waits, by purpose; the purpose that is served next stands first. */
const queues = new Map<Purpose, (() => void)[]>()
let running = 0

async function queued<R>(purpose: Purpose, work: () => Promise<R>): Promise<R> {
  if (running < atOnce) running++
  else await turn(purpose)
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

/** To the first of the purpose whose turn it is, which then is the last. */
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
