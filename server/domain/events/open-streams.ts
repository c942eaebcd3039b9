/** Limits the streams of a process, and ends them when the service stops. */

import { AppError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { wakeBehind } from '../event-log/wake.ts'
import type { Services } from '../services.ts'

interface Owner {
  readonly personId: string
  readonly orgId: string
  /** The IP address of the caller, or its network. */
  readonly from: string
  /** The most that this process can have because of its open files. */
  readonly files: number
  /** Ends the stream. Called once, when the service stops, or to make room. */
  readonly end: () => void
  /** True if the stream has sent everything, and waits for the next event. */
  readonly isWaiting: () => boolean
}

type StreamDeps = Pick<Services, 'events' | 'draining' | 'metrics' | 'rounds'>

class OpenStreams {
  readonly #open = new Set<Owner>()
  readonly #counts = new Map<string, number>()

  constructor(deps: StreamDeps) {
    // One listener for all streams.
    deps.draining.addEventListener('abort', () => this.#endAll(), { once: true })
    deps.rounds.add({ name: 'streams of events', settle: () => this.#settle(deps) })
  }

  get size(): number {
    return this.#open.size
  }

  /** @throws AppError too_many_streams */
  add(owner: Owner): () => void {
    const { personId, orgId, files } = owner
    const places = [
      [`person ${personId}`, limits.userStreams, 'You have'],
      [`org ${orgId}`, limits.orgStreams, 'This organisation has'],
    ] as const
    for (const [key, most, who] of places)
      if (this.#countOf(key) >= most) throw refusal(`${who} ${most} open streams; close one, then try again`)
    if (this.#open.size >= Math.min(limits.streams, files)) this.#makeRoom(owner)
    const keys = places.map(([key]) => key)
    for (const key of keys) this.#change(key, 1)
    this.#open.add(owner)
    return () => {
      if (!this.#open.delete(owner)) return
      for (const key of keys) this.#change(key, -1)
    }
  }

  /**
   * Ends the oldest stream of the address that has the most. So one address cannot keep all others out. A client
   * whose stream ends connects again and continues after its last event.
   *
   * @throws AppError too_many_streams: the caller's own address has as many
   */
  #makeRoom({ from }: Owner): void {
    const byAddress = new Map<string, Owner[]>()
    for (const owner of this.#open) {
      const others = byAddress.get(owner.from)
      if (others) others.push(owner)
      else byAddress.set(owner.from, [owner])
    }
    const largest = [...byAddress.values()].reduce((one, other) => (other.length > one.length ? other : one), [])
    if (largest.length <= (byAddress.get(from)?.length ?? 0) + 1)
      throw refusal('This service has too many open streams; close one, or try again later')
    largest[0]?.end()
  }

  #countOf(key: string): number {
    return this.#counts.get(key) ?? 0
  }

  #change(key: string, by: number): void {
    const count = this.#countOf(key) + by
    if (count === 0) this.#counts.delete(key)
    else this.#counts.set(key, count)
  }

  #endAll(): void {
    for (const { end } of [...this.#open]) end()
  }

  async #settle(deps: StreamDeps): Promise<boolean> {
    await wakeBehind(deps)
    return [...this.#open].every(({ isWaiting }) => isWaiting())
  }
}

function refusal(detail: string): AppError {
  return new AppError('too_many_streams', detail)
}

/** The open streams of each service in this process. */
const all = new WeakMap<Services['events'], OpenStreams>()

/**
 * Counts a stream until the returned function is called.
 *
 * @throws AppError too_many_streams; draining
 */
export function admitStream(deps: StreamDeps, owner: Owner): () => void {
  const { events, draining, metrics } = deps
  if (draining.aborted) throw new AppError('draining', 'The service is about to stop; try again in a moment')
  const open = all.get(events) ?? new OpenStreams(deps)
  all.set(events, open)
  const remove = open.add(owner)
  metrics.eventStreams.set(open.size)
  return () => {
    remove()
    metrics.eventStreams.set(open.size)
  }
}
