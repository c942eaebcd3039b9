/**
 * Makes what was written to `events.sqlite` durable. Its transactions do not sync, so a power cut would lose events that
 * somebody has seen, or acts that somebody relies on.
 */
import { join } from 'node:path'
import { syncPath } from '../../../gitstore/durable.ts'
import { codeOf } from '../../../gitstore/errors.ts'
import { eventsFile } from '../layout.ts'
import type { Services } from '../services.ts'

type EventsDeps = Pick<Services, 'events' | 'config'>

/** Syncs for many callers. All that wait for the next sync share it. */
class SharedSync {
  readonly #file: string
  #running: Promise<void> = Promise.resolve()
  #next: Promise<void> | undefined

  constructor(file: string) {
    this.#file = file
  }

  /** Resolves after a sync that began after this call. @throws GitError storage_error */
  join(): Promise<void> {
    this.#next ??= this.#running
      .catch(() => {})
      .then(() => {
        this.#running = syncIfPresent(this.#file)
        this.#next = undefined
        return this.#running
      })
    return this.#next
  }
}

/** A file that is missing was written to the database completely, which SQLite syncs. */
async function syncIfPresent(file: string): Promise<void> {
  await syncPath(file).catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT') throw error
  })
}

const syncs = new WeakMap<Services['events'], SharedSync>()

/** Syncs all transactions that were committed before the call. @throws GitError storage_error */
export function syncEvents({ events, config }: EventsDeps): Promise<void> {
  const sync = syncs.get(events) ?? new SharedSync(`${join(config.dataDir, eventsFile)}-wal`)
  syncs.set(events, sync)
  return sync.join()
}
