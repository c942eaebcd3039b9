/** Follows an organisation's events for one caller, who is checked again before each batch. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Sees } from '../../../index/derived/sees.ts'
import { encodeCursor, type Position, parseCursor } from '../../../index/log/chain.ts'
import type { EventFilter, EventRow } from '../../../index/log/events.ts'
import { AppError, invalid } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { authorizeOrg, invalidTokenError, recheckAccess } from '../access.ts'
import type { Person } from '../actor.ts'
import { onNewEvents } from '../event-log/wake.ts'
import type { Ctx, Services } from '../services.ts'
import type { OrgAt } from '../targets.ts'
import { cursorGone, findOrBeginLog, positionOf } from './cursors.ts'
import { type EventQuery, filterOf } from './feed.ts'
import { admitStream } from './open-streams.ts'
import { readShown, readTogether } from './shown.ts'

/** The most bytes of a batch. `least` events are read before their size is known. */
const batch = { bytes: 65_536, least: 4 } as const
/** The longest life of a stream. The session of a browser is then looked up as at any request. */
const longestMs = 86_400_000

export interface StreamBatch {
  /** The cursor after the batch, which also passes what a filter hides. */
  readonly cursor: string
  /** Empty: nothing happened, or the filter hides it. */
  readonly events: readonly { readonly cursor: string; readonly type: string; readonly body: string }[]
}

/** Facts about the caller of a stream that HTTP knows. */
export interface StreamOptions {
  /** The header `Last-Event-ID`. Undefined: the query says where to begin. */
  readonly lastEventId: string | undefined
  /** When the caller's token expires, in milliseconds since 1970. Undefined: it does not, or not by its own time. */
  readonly expiresAt: number | undefined
  /** The most streams that the open files of this process allow. */
  readonly files: number
  /** The IP address of the caller, or its network. */
  readonly from: string
}

/** The caller of a stream, and what it reads. */
interface Subscription {
  readonly person: Person
  readonly sees: Sees
  readonly filter: EventFilter
  readonly expiresAt: number
}

export class EventStream {
  readonly #deps: Services
  readonly #subscription: Subscription
  readonly #leave: () => void
  #position: Position
  /** Events of the next read. Large ones are read in smaller numbers. */
  #limit: number = batch.least
  #isClosed = false
  #isWaiting = false
  /** The streams that were woken together with this one, until it reads. */
  #group: object | undefined
  #wake: (group?: object) => void = () => {}

  /** @throws AppError too_many_streams, draining */
  constructor(
    deps: Services,
    subscription: Subscription,
    start: Position,
    { files, from }: Pick<StreamOptions, 'files' | 'from'>,
  ) {
    this.#deps = deps
    this.#subscription = subscription
    this.#position = start
    const { person, sees } = subscription
    this.#leave = admitStream(deps, {
      personId: person.id,
      orgId: sees.orgId,
      ...{ files, from },
      end: () => this.close(),
      isWaiting: () => this.#isWaiting,
    })
  }

  /** The cursor up to which everything was returned. */
  get cursor(): string {
    return encodeCursor(this.#position)
  }

  /**
   * Waits for the next events. Returns an empty batch after `ms`, and undefined if the stream is closed.
   *
   * @throws AppError: the caller may no longer read; cursor_gone: events were removed before they could be read
   */
  async next(ms: number): Promise<StreamBatch | undefined> {
    const deadline = performance.now() + ms
    while (!this.#isClosed) {
      const { events, hasMore } = await this.#read()
      if (this.#isClosed) return undefined
      const leftMs = deadline - performance.now()
      if (events.length > 0 || leftMs <= 0) {
        // Checked after the events were read: nothing is sent that happened after the caller was removed.
        await this.#requireAccess()
        return this.#isClosed ? undefined : { cursor: this.cursor, events }
      }
      if (hasMore) await nextTurn()
      else await this.#wait(leftMs)
    }
    return undefined
  }

  /** Ends the stream. `next` then returns undefined. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#leave()
    this.#wake()
  }

  async #read(): Promise<{ readonly events: StreamBatch['events']; readonly hasMore: boolean }> {
    const { sees, filter } = this.#subscription
    const group = this.#group
    this.#group = undefined
    const read = group
      ? await readTogether(this.#deps, sees, this.#position, group)
      : await readShown(this.#deps, sees, this.#position, { ...filter, limit: this.#limit })
    const passed = group ? read.events.filter((event) => passes(filter, event)) : read.events
    const events = fitting(passed)
    this.#limit = nextLimit(events)
    const isCut = events.length < passed.length
    const { seq, chain } = (isCut && events.at(-1)) || read.next
    this.#position = { seq, chain }
    return {
      events: events.map((event) => ({ cursor: encodeCursor(event), type: event.type, body: event.body })),
      hasMore: isCut || read.hasMore,
    }
  }

  /** @throws AppError invalid_token, forbidden, moving */
  async #requireAccess(): Promise<void> {
    const { person, sees, expiresAt } = this.#subscription
    if (expiresAt <= this.#deps.now().getTime()) throw invalidTokenError()
    if (!this.#deps.placement.isHere(sees.orgId))
      throw new AppError('moving', 'The organisation is on another cell now')
    await recheckAccess({ ...this.#deps, actor: person }, sees.orgId, 'reader')
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#isWaiting = true
      const timer = setTimeout(() => this.#wake(), ms)
      const cancel = onNewEvents(this.#deps, this.#subscription.sees.orgId, this.#position, (group) =>
        this.#wake(group),
      )
      this.#wake = (group) => {
        this.#group = group
        clearTimeout(timer)
        cancel()
        this.#isWaiting = false
        this.#wake = () => {}
        resolve()
      }
    })
  }
}

/** True if the filter lets the event through. */
function passes({ types, nodeIds }: EventFilter, { type, node_id }: EventRow): boolean {
  return (types?.includes(type) ?? true) && (nodeIds === undefined || (node_id !== null && nodeIds.includes(node_id)))
}

/** The number of events of this size that a batch has room for. */
function nextLimit(events: readonly EventRow[]): number {
  const bytes = events.reduce((sum, { body }) => sum + Buffer.byteLength(body), 0)
  const most = events.length === 0 ? batch.least : Math.floor((batch.bytes * events.length) / bytes)
  return Math.max(1, Math.min(limits.streamEvents, most))
}

/** The first events, up to the bytes of a batch, and at least one. */
function fitting(events: readonly EventRow[]): readonly EventRow[] {
  let bytes = 0
  const end = events.findIndex(({ body }, at) => {
    bytes += Buffer.byteLength(body)
    return at > 0 && bytes > batch.bytes
  })
  return end === -1 ? events : events.slice(0, end)
}

/**
 * Opens a stream. Close it.
 *
 * @throws errors of `authorizeOrg`, ValidationError, AppError cursor_gone, too_many_streams, draining
 */
export async function openStream(
  ctx: Ctx<Person>,
  at: OrgAt,
  query: EventQuery,
  { lastEventId, expiresAt = Number.POSITIVE_INFINITY, ...room }: StreamOptions,
): Promise<EventStream> {
  const { org, sees } = await authorizeOrg(ctx, at, 'reader')
  if (query.before !== undefined)
    throw invalid(['query', 'before'], 'A stream only follows new events; list earlier ones as JSON', query.before)
  const filter = filterOf(ctx.actor, query)
  const log = await findOrBeginLog(ctx, org.id)
  // A browser sends it on its own, so a malformed one is gone rather than invalid.
  if (lastEventId !== undefined && parseCursor(lastEventId) === undefined) throw cursorGone(log)
  const start = await positionOf(ctx, log, lastEventId ?? query.after ?? 'now', 'after')
  const endsAt = Math.min(expiresAt, ctx.now().getTime() + longestMs)
  return new EventStream(ctx, { person: ctx.actor, sees, filter, expiresAt: endsAt }, start, room)
}
