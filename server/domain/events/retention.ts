/** Removes events that are too old, and what the recorder no longer needs. */
import { deleteIntentsBefore } from '../../../index/log/intents.ts'
import { hasExpired, nextLogOrg, type Retention, removeExpired } from '../../../index/log/retention.ts'
import * as limits from '../../base/limits.ts'
import type { Services } from '../services.ts'

const dayMs = 86_400_000
const hourMs = 3_600_000

/** Days for which an event is kept that is still needed. */
const neededDays = 7
/** Rows that one transaction removes. */
const removedAtOnce = 2_000
/** Organisations of one step. */
const orgsAtOnce = 100

/** Returns the number of the last event that is no longer needed. Undefined: nobody needs events. */
export type OldestNeeded = (deps: Services, orgId: string) => Promise<number | undefined>

/** Removes old events, one batch at a time, organisation by organisation. */
export class EventRemoval {
  readonly #oldestNeeded: OldestNeeded
  /** The organisation that the last step finished. */
  #done = ''

  constructor(oldestNeeded: OldestNeeded) {
    this.#oldestNeeded = oldestNeeded
  }

  /** Removes the next batch. Returns true at the end of a round; the next step begins another. */
  async step(deps: Services): Promise<boolean> {
    for (let seen = 0; seen < orgsAtOnce; seen++) {
      const orgId = await nextLogOrg(deps.events.read, this.#done)
      if (orgId === undefined || deps.draining.aborted) {
        this.#done = ''
        return true
      }
      const retention = await this.#retentionOf(deps, orgId)
      if (await hasExpired(deps.events.read, orgId, retention)) {
        await deps.events.write((trx) => removeExpired(trx, orgId, retention, removedAtOnce))
        return false
      }
      this.#done = orgId
    }
    return false
  }

  async #retentionOf(deps: Services, orgId: string): Promise<Retention> {
    const now = deps.now().getTime()
    const needed = await this.#oldestNeeded(deps, orgId)
    return {
      before: now - deps.config.eventRetentionDays * dayMs,
      most: limits.keptEvents,
      neededSince: now - neededDays * dayMs,
      ...(needed === undefined ? {} : { needed }),
    }
  }
}

/** Deletes a batch of intents that are older than an hour. Returns true if none is left. */
export function removeOldIntents({ events, now }: Services): Promise<boolean> {
  return events.write((trx) => deleteIntentsBefore(trx, now().getTime() - hourMs, removedAtOnce))
}
