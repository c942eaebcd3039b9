/** Exports the audit for the operator. Entries are events and rows, oldest first. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { AuditRow } from '../../../index/log/audit.ts'
import { dataVersion } from '../../../index/log/events.ts'
import { flushAudit } from '../../domain/audit/audit.ts'
import { type AuditEntryView, rowView } from '../../domain/audit/entries.ts'
import type { Services } from '../../domain/services.ts'
import { eventView } from './event-entries.ts'
import { mergeSorted, type Sorted } from './merge.ts'
import { lastAuditRow, listAuditRowsAfter, listNewAuditRows } from './rows/audit.ts'
import { listLogEnds, listNewEvents, listRecordedAfter, type RecordedEvent } from './rows/events.ts'

export interface AuditExport {
  /** Default: all organisations, and what is not about one. */
  readonly orgId: string | undefined
  /** Milliseconds since 1970, including. */
  readonly sinceMs: number
  /** True: continues until the signal is aborted. */
  readonly follow: boolean
  readonly signal: AbortSignal
}

/** Rows or events that are read at a time, of all sources. */
const itemsAtOnce = 20_000
/** The most of one source. */
const ofOneSource = 500
/** Milliseconds between two looks for new entries. */
const lookMs = 1_000

interface Item {
  readonly ms: number
  /** Rows come before events. Events are sorted by organisation. */
  readonly org: string
  readonly n: number
  readonly view: AuditEntryView
}

/** How far the audit and each log were exported. */
interface Ends {
  row: number
  readonly logs: Map<string, number>
}

/**
 * Yields the entries that are there now by time, as the API lists them. Then, if asked, new ones in the order in which
 * they are recorded. Every yielded entry is durable. A row that counts several is yielded once, when it begins.
 */
export async function* exportAudit(deps: Services, options: AuditExport): AsyncGenerator<AuditEntryView> {
  const { orgId, sinceMs, follow, signal } = options
  await flushAudit(deps)
  const ends: Ends = { row: await lastAuditRow(deps.events.read), logs: await endsOf(deps, orgId) }
  const sources = sourcesOf(deps, { orgId, sinceMs }, ends)
  for await (const { view } of mergeSorted(sources, byTime)) {
    signal.throwIfAborted()
    yield view
  }
  for (let version = -1; follow; ) {
    signal.throwIfAborted()
    const seen = await dataVersion(deps.events.read)
    if (seen === version) await sleep(lookMs, undefined, { signal }).catch(() => signal.throwIfAborted())
    else for await (const { view } of newItems(deps, orgId, ends)) yield view
    version = seen
  }
}

async function endsOf({ events }: Services, orgId: string | undefined): Promise<Map<string, number>> {
  const logs = await listLogEnds(events.read)
  return new Map(
    logs.filter(({ org_id }) => orgId === undefined || org_id === orgId).map((log) => [log.org_id, log.seq]),
  )
}

function sourcesOf(
  { events: { read } }: Services,
  { orgId, sinceMs }: Pick<AuditExport, 'orgId' | 'sinceMs'>,
  ends: Ends,
): Sorted<Item>[] {
  const limit = Math.max(2, Math.min(ofOneSource, Math.floor(itemsAtOnce / (ends.logs.size + 1))))
  const last = ends.row
  const rows = pagesOf(sinceMs, async (place) => {
    const found = await listAuditRowsAfter(read, place, { orgId, limit })
    return { items: found.map(itemOfRow), isIn: ({ n }) => n <= last }
  })
  const logs = [...ends.logs].map(([org, end]) =>
    pagesOf(sinceMs, async (place) => {
      const found = await listRecordedAfter(read, org, place, limit)
      return { items: found.map(itemOfEvent), isIn: ({ n }) => n <= end }
    }),
  )
  return [rows, ...logs]
}

interface Read {
  readonly items: readonly Item[]
  /** False for what was written since the export began. */
  isIn(item: Item): boolean
}

function pagesOf(sinceMs: number, read: (place: { ms: number; n: number }) => Promise<Read>): Sorted<Item> {
  let place = { ms: sinceMs, n: -1 }
  return {
    next: async () => {
      for (;;) {
        const { items, isIn } = await read(place)
        const last = items.at(-1)
        if (last === undefined) return []
        place = { ms: last.ms, n: last.n }
        const kept = items.filter(isIn)
        if (kept.length > 0) return kept
      }
    },
  }
}

/** Yields what was recorded after the ends, and moves them. */
async function* newItems(deps: Services, orgId: string | undefined, ends: Ends): AsyncGenerator<Item> {
  const { read } = deps.events
  // A damaged database begins again.
  if ((await lastAuditRow(read)) < ends.row) ends.row = 0
  for (let isMore = true; isMore; ) {
    const rows = await listNewAuditRows(read, ends.row, { orgId, limit: ofOneSource })
    const items = rows.map(itemOfRow)
    isMore = rows.length === ofOneSource
    for (const [org, seq] of await endsOf(deps, orgId)) {
      const known = ends.logs.get(org) ?? 0
      const events = seq === known ? [] : await listNewEvents(read, org, seq < known ? 0 : known, ofOneSource)
      items.push(...events.map(itemOfEvent))
      ends.logs.set(org, events.at(-1)?.seq ?? seq)
      isMore ||= events.length === ofOneSource
    }
    ends.row = rows.at(-1)?.n ?? ends.row
    await flushAudit(deps)
    yield* items.sort(byTime)
  }
}

function itemOfRow(row: AuditRow): Item {
  return { ms: row.at_ms, org: '', n: row.n, view: rowView(row) }
}

function itemOfEvent(event: RecordedEvent): Item {
  return { ms: event.recorded_ms, org: event.org_id, n: event.seq, view: eventView(event) }
}

function byTime(a: Item, b: Item): number {
  if (a.ms !== b.ms) return a.ms - b.ms
  if (a.org !== b.org) return a.org < b.org ? -1 : 1
  return a.n - b.n
}
