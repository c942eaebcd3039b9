/**
 * Reads events, and shows them only once they are durable.
 *
 * A power cut may remove the newest rows of `events.sqlite`. So a reader of new events syncs its log first. After a power
 * cut, the events that it removed are recorded again, and nobody has seen them.
 */
import { type Cache, createCache } from '../../../gitstore/caching/caches.ts'
import type { Sees } from '../../../index/derived/sees.ts'
import type { Position } from '../../../index/log/chain.ts'
import {
  type EventFilter,
  type EventRow,
  eventsPassed,
  findLog,
  type Log,
  listEventsAfter,
  listEventsUpTo,
} from '../../../index/log/events.ts'
import { baseOf, findPosition, hasPosition } from '../../../index/log/positions.ts'
import { AppError } from '../../base/errors.ts'
import { syncEvents } from '../event-log/durable-events.ts'
import type { Services } from '../services.ts'
import { cursorGone } from './cursors.ts'

export interface ShownEvents {
  readonly events: readonly EventRow[]
  /** The position up to which the log was read. Reading there goes past all events that the filter hides. */
  readonly next: Position
  /** True if the log had more in this direction. Then read again at once, even if there are no events. */
  readonly hasMore: boolean
}

type Reading = Pick<Services, 'events' | 'config'>
type LogDb = Services['events']['read']

/**
 * Returns durable events after a position, oldest first. Passes over at most `eventsPassed` others that the filter
 * hides.
 *
 * @throws AppError cursor_gone: events after the position are missing
 * @throws GitError storage_error: the events cannot be made durable
 */
export async function readShown(
  deps: Reading,
  sees: Sees,
  after: Position,
  filter: EventFilter & { readonly limit: number },
): Promise<ShownEvents> {
  const { orgId } = sees
  // One connection for all statements: the database may be replaced in the meantime.
  const db = deps.events.read
  const log = await findLog(db, orgId)
  if (log === undefined) throw logGone()
  // A reader that was shown the end of the log only waits for more.
  if (log.chain === after.chain && isDurable(db, orgId, after.seq)) return { events: [], next: after, hasMore: false }
  const events = await listEventsAfter(db, sees, after.seq, filter)
  const next = await endOf(db, log, after, { events, isFull: events.length >= filter.limit })
  // Checked after the events were read: retention may have removed some of them before.
  const kept = await findLog(db, orgId)
  if (kept === undefined) throw logGone()
  if (next === undefined || !(await hasPosition(db, kept, after))) throw cursorGone(kept)
  await syncShown(deps, db, orgId, next.seq)
  return { events, next, hasMore: next.seq < log.seq }
}

/**
 * Returns durable events up to a position, newest first. Passes over at most `eventsPassed` others that the filter
 * hides. `next` is then the position before all of them.
 *
 * @throws AppError cursor_gone: the position is not in the log
 * @throws GitError storage_error: the events cannot be made durable
 */
export async function readShownBefore(
  deps: Reading,
  sees: Sees,
  before: Position,
  filter: EventFilter & { readonly limit: number },
): Promise<ShownEvents> {
  const { orgId } = sees
  const db = deps.events.read
  const events = await listEventsUpTo(db, sees, before.seq, filter)
  const last = events.at(-1)
  const end = last !== undefined && events.length >= filter.limit ? last.seq - 1 : before.seq - eventsPassed
  const found = await findPosition(db, orgId, end)
  // Read last: if retention has removed the event at the end, the log now begins after it.
  const kept = await findLog(db, orgId)
  if (kept === undefined) throw logGone()
  if (!(await hasPosition(db, kept, before))) throw cursorGone(kept)
  const next = found !== undefined && found.seq > kept.base_seq ? found : baseOf(kept)
  await syncShown(deps, db, orgId, before.seq)
  return { events, next, hasMore: next.seq > kept.base_seq }
}

/** Events that streams read together. A commit has one or two. */
const readOfGroup = 16

/** Reads of streams that were woken together. */
const groupReads = new WeakMap<object, Map<string, Promise<ShownEvents>>>()

/**
 * Returns some of the durable events after a position, without a filter. The streams of a group share the read.
 *
 * @throws errors of `readShown`
 */
export function readTogether(deps: Reading, sees: Sees, after: Position, group: object): Promise<ShownEvents> {
  const known = groupReads.get(group) ?? new Map<string, Promise<ShownEvents>>()
  groupReads.set(group, known)
  const read = known.get(after.chain) ?? readShown(deps, sees, after, { limit: readOfGroup })
  known.set(after.chain, read)
  return read
}

function logGone(): AppError {
  return new AppError('busy', 'The log of events was replaced; try again in a moment')
}

/** The position up to which a statement has read. Undefined if its event is gone. */
async function endOf(
  db: LogDb,
  log: Log,
  after: Position,
  { events, isFull }: { readonly events: readonly EventRow[]; readonly isFull: boolean },
): Promise<Position | undefined> {
  const last = events.at(-1)
  const passed = Math.min(after.seq + eventsPassed, log.seq)
  if (last !== undefined && (isFull || last.seq >= passed)) return { seq: last.seq, chain: last.chain }
  if (passed === log.seq) return { seq: log.seq, chain: log.chain }
  return findPosition(db, log.org_id, passed)
}

/**
 * The number of the last durable event of each organisation, for each open file. Without it, a sync of a file without
 * new pages is needed.
 */
const durable = new WeakMap<LogDb, Cache<number>>()

function isDurable(db: LogDb, orgId: string, seq: number): boolean {
  return (durable.get(db)?.get(orgId) ?? 0) >= seq
}

/** Syncs the log of the database, if the event is not known to be durable. */
async function syncShown(deps: Reading, db: LogDb, orgId: string, seq: number): Promise<void> {
  if (isDurable(db, orgId, seq)) return
  const known = durable.get(db) ?? createCache<number>('durable_events')
  durable.set(db, known)
  await syncEvents(deps)
  known.set(orgId, Math.max(known.get(orgId) ?? 0, seq))
}
