/**
 * Refuses the most common passwords, and hashes the others with argon2id.
 *
 * Few hashes run at a time, so that threads remain for the file system.
 */

import { randomBytes } from 'node:crypto'
import { argon2id, hash, verify } from 'argon2'
import { createQuota } from '../../../gitstore/concurrency/quota.ts'
import { createSemaphore, type Turn } from '../../../gitstore/concurrency/semaphore.ts'
import { AppError, invalid } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import type { Services } from '../services.ts'

/** The number of common passwords that are refused, among those of valid length. */
const refused = 10_000
const leastLength = 8

let known: Promise<ReadonlySet<string>> | undefined

/**
 * Checks that the password is not among the 10,000 most common, in either case.
 *
 * @param field of the request's body
 * @throws ValidationError
 */
export async function requireUncommon(field: string, password: string): Promise<void> {
  known ??= load()
  if ((await known).has(password.toLowerCase()))
    throw invalid(['body', field], 'The password is among the 10,000 most common; choose another')
}

/** Loads the list when it is first needed, in 10 ms. */
async function load(): Promise<ReadonlySet<string>> {
  const { default: ranked } = await import('@zxcvbn-ts/language-common/src/passwords.json', { with: { type: 'json' } })
  return new Set(ranked.filter(({ length }) => length >= leastLength).slice(0, refused))
}

/** 19 MiB, two passes, one lane: OWASP's minimum for argon2id. */
const ownCost = { memoryKib: 19 * 1024, passes: 2 } as const

/** The reason for hashing a password. `return`: a sign-in from an IP address that the account has used before. */
export type Purpose = 'return' | 'login' | 'signup' | 'change'

interface HashTurn extends Turn {
  readonly purpose: Purpose
}

/** Limits concurrent hashes, which share libuv's threads with file access. Purposes take turns, so none starves. */
const semaphore = createSemaphore<HashTurn>({
  running: limits.passwordHashes,
  waiting: {
    // About two seconds of work for each purpose.
    quota: createQuota(({ purpose }) => [[purpose, 64]]),
    refusal: () => new AppError('rate_limited', 'Too many passwords are being checked; try again in a moment'),
  },
  laneOf: ({ purpose }) => ({ key: purpose }),
})

export function passwordsWaiting(): number {
  return semaphore.waiting()
}

/** The hash of a random password. With it, an unknown e-mail address takes as long to check as a wrong password. */
export const dummyHash =
  '$argon2id$v=19$m=19456,t=2,p=1$zcuF4NXXrcr6Dcz2AEzzOg$LtyOS6Gkq9mI3Royd4+elU6sp1LVAkUOSAh6TUmzUYM'

/** The hash of an account without a password. No password matches it. */
export const noPassword = '!'

/** @throws AppError rate_limited */
export function hashPassword(deps: Services, purpose: Purpose, password: string): Promise<string> {
  const { memoryKib, passes } = deps.config.passwordCost ?? ownCost
  const cost = { type: argon2id, memoryCost: memoryKib, timeCost: passes, parallelism: 1 }
  return semaphore.run({ purpose, waited: deps.waited }, () => hash(password.normalize('NFC'), cost))
}

/** Returns the hash of a random password that is then discarded. @throws AppError rate_limited */
export function hashRandomPassword(deps: Services): Promise<string> {
  return hashPassword(deps, 'signup', randomBytes(32).toString('base64url'))
}

/**
 * True if `password` matches `hashed`. Undefined, for an unknown account, and `noPassword` never match.
 *
 * @throws AppError rate_limited
 */
export function isPassword(
  deps: Services,
  purpose: Purpose,
  hashed: string | undefined,
  password: string,
): Promise<boolean> {
  const known = hashed === noPassword ? undefined : hashed
  return semaphore.run(
    { purpose, waited: deps.waited },
    async () => (await verify(known ?? dummyHash, password.normalize('NFC'))) && known !== undefined,
  )
}
