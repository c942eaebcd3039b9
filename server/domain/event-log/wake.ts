/**
 * Wakes readers that wait for the next event of an organisation.
 *
 * A process wakes its own readers when it writes. It finds the writes of other processes by `pragma data_version`.
 */
import type { Position } from '../../../index/log/chain.ts'
import { dataVersion } from '../../../index/log/events.ts'
import { listChains } from '../../../index/log/positions.ts'
import type { Services } from '../services.ts'

/** Milliseconds between two checks for writes of other processes. One check takes a few microseconds. */
const checkIntervalMs = 100
/** Readers that are woken in one turn of the event loop. Each reads the database. */
const wokenAtOnce = 50

type Events = Services['events']

interface Reader {
  /** The chain value at the end of the log when the reader last read it. */
  readonly chain: string
  /** @param group the same object for all readers that are woken together */
  readonly ring: (group: object) => void
}

/** The readers of one database that wait. */
class Bell {
  readonly #events: Events
  readonly #waiting = new Map<string, Set<Reader>>()
  #timer: NodeJS.Timeout | undefined
  #checking: Promise<void> | undefined
  /** True if a reader has come since the last check. Its event may be there already. */
  #hasNew = false
  /** The connection of the last check, and its version. A database that replaces a damaged one has other versions. */
  #seen: { readonly db: Events['read']; readonly version: number } | undefined

  constructor(events: Events) {
    this.#events = events
  }

  add(orgId: string, reader: Reader): () => void {
    const readers = this.#waiting.get(orgId) ?? new Set()
    this.#waiting.set(orgId, readers.add(reader))
    this.#hasNew = true
    this.#timer ??= setInterval(() => void this.check(), checkIntervalMs).unref()
    return () => this.#remove(orgId, reader)
  }

  /** Wakes the readers of an organisation. @param isBehind default: all of them */
  ring(orgId: string, isBehind: (reader: Reader) => boolean = () => true): void {
    const woken = [...(this.#waiting.get(orgId) ?? [])].filter(isBehind)
    for (const reader of woken) this.#remove(orgId, reader)
    ringInTurns(woken)
  }

  #remove(orgId: string, reader: Reader): void {
    const readers = this.#waiting.get(orgId)
    readers?.delete(reader)
    if (readers?.size === 0) this.#waiting.delete(orgId)
    if (this.#waiting.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** Wakes the readers that are behind. */
  check(): Promise<void> {
    this.#checking ??= this.#wakeBehind().finally(() => {
      this.#checking = undefined
    })
    return this.#checking
  }

  async #wakeBehind(): Promise<void> {
    try {
      const db = this.#events.read
      const version = await dataVersion(db)
      if (!this.#hasNew && this.#seen?.db === db && this.#seen.version === version) return
      this.#seen = { db, version }
      this.#hasNew = false
      const orgIds = [...this.#waiting.keys()]
      const chains = await listChains(db, orgIds)
      for (const orgId of orgIds) this.ring(orgId, ({ chain }) => chain !== chains.get(orgId))
    } catch {
      // The readers meet the same fault and report it.
      for (const orgId of [...this.#waiting.keys()]) this.ring(orgId)
    }
  }
}

function ringInTurns(readers: readonly Reader[]): void {
  const group = {}
  for (const { ring } of readers.slice(0, wokenAtOnce)) ring(group)
  if (readers.length > wokenAtOnce) setImmediate(() => ringInTurns(readers.slice(wokenAtOnce)))
}

const bells = new WeakMap<Events, Bell>()

function bellOf({ events }: Pick<Services, 'events'>): Bell {
  const bell = bells.get(events) ?? new Bell(events)
  bells.set(events, bell)
  return bell
}

/**
 * Calls `ring` once, when the log no longer ends at this position. It may also ring without a new event.
 *
 * @param position the end of the log as the reader has read it
 * @returns a function that ends the wait
 */
export function onNewEvents(
  deps: Pick<Services, 'events'>,
  orgId: string,
  { chain }: Position,
  ring: Reader['ring'],
): () => void {
  return bellOf(deps).add(orgId, { chain, ring })
}

/** Wakes the readers of an organisation in this process. Call it after events were appended. */
export function wakeReaders(deps: Pick<Services, 'events'>, orgId: string): void {
  bellOf(deps).ring(orgId)
}

/** Wakes the readers of all organisations that are behind, also by writes of other processes. */
export function wakeBehind(deps: Pick<Services, 'events'>): Promise<void> {
  return bellOf(deps).check()
}
