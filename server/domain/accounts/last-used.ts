/** The last use of sessions, personal access tokens and accounts. */

import { createCache } from '../../../gitstore/caching/caches.ts'
import { type Profile, setAccountSeen } from '../../../index/credentials/accounts.ts'
import type { CredentialsDb } from '../../../index/credentials/schema.ts'
import { addRunning } from '../../base/rounds.ts'
import type { Services } from '../services.ts'

/** Milliseconds by which the times may lag. Recording a use is a synced write, which no request waits for. */
const precisionMs = { use: 60_000, account: 3_600_000 } as const

/** A session or a personal access token. */
interface Used {
  readonly id: string
  /** The last use that is recorded. */
  readonly usedAt: string | null
  /** Records a use. */
  write(trx: CredentialsDb, id: string, at: string): Promise<void>
}

/** Times in ms at which this process last tried to record a use, by id. */
const recordedAt = createCache<number>('last_uses')

/** Records the use in the background. A failure is only logged. Many uses within a minute are one write. */
export function recordLastUse(
  deps: Services,
  account: Pick<Profile, 'id' | 'last_seen_at'>,
  { id, usedAt, write }: Used,
): void {
  const now = deps.now()
  if (!isDue(now, Math.max(recordedAt.get(id) ?? 0, timeOf(usedAt)), precisionMs.use)) return
  recordedAt.set(id, now.getTime())
  const at = now.toISOString()
  const recorded = deps.credentials
    .write(async (trx) => {
      await write(trx, id, at)
      if (isDue(now, timeOf(account.last_seen_at), precisionMs.account)) await setAccountSeen(trx, account.id, at)
    })
    .catch((error: unknown) => deps.log.warn({ err: error, id }, 'the use of a token could not be recorded'))
  void addRunning(deps.rounds, 'the last use of a token', recorded)
}

function isDue(now: Date, last: number, precision: number): boolean {
  return Math.abs(now.getTime() - last) >= precision
}

function timeOf(time: string | null): number {
  return time === null ? 0 : Date.parse(time)
}
