/** Passwords: argon2id, at a pace that leaves threads for the file system. */

import { argon2id, hash, verify } from 'argon2'
import pLimit from 'p-limit'
import { Refusal } from '../../errors.ts'

/** 19 MiB, two passes, one lane: OWASP's minimum for argon2id. */
const cost = { type: argon2id, memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 } as const

/** Two at once, because they share libuv's threads with every file; 64 more may wait, about two seconds. */
const turn = pLimit(2)
const longestQueue = 64

/** The hash of a password that nobody knows, so that an unknown e-mail takes as long as a wrong password. */
const nobodys = '$argon2id$v=19$m=19456,t=2,p=1$zcuF4NXXrcr6Dcz2AEzzOg$LtyOS6Gkq9mI3Royd4+elU6sp1LVAkUOSAh6TUmzUYM'

/** @throws Refusal rate_limited */
export function hashPassword(password: string): Promise<string> {
  return inTurn(() => hash(password.normalize('NFC'), cost))
}

/** Whether `password` is the one of `hashed`; undefined, for an unknown account, is never. @throws Refusal rate_limited */
export function isPassword(hashed: string | undefined, password: string): Promise<boolean> {
  return inTurn(async () => (await verify(hashed ?? nobodys, password.normalize('NFC'))) && hashed !== undefined)
}

async function inTurn<R>(work: () => Promise<R>): Promise<R> {
  if (turn.pendingCount >= longestQueue) throw new Refusal('rate_limited', 'Too many people sign in at this moment')
  return turn(work)
}
