/** The timeline of a pull request: its comments, reviews and events, oldest first. */
import { type EntryRow, listEntriesAfter } from '../../../index/derived/entries.ts'
import type { Person } from '../actor.ts'
import { parseEntry } from '../ledger/entries.ts'
import { findPullRow } from '../pulls/pulls.ts'
import type { Ctx } from '../services.ts'
import type { Path, PullAt, Query } from '../targets.ts'
import { authorizeOwner } from './conversations.ts'
import { type Comment, type PullEventView, toComment, toEvent, toReviewText } from './entry-views.ts'
import { type Review, readStates } from './reviews.ts'

/** `unknown` is an entry of a later version. `damaged` is one that was edited by hand. */
export interface TimelineEntry {
  readonly entry: number
  readonly kind: EntryRow['kind'] extends infer Kind ? (Kind extends 'verdict' ? 'review' : Kind) : never
  readonly created_at?: string
  readonly comment?: Comment
  readonly review?: Review
  readonly event?: PullEventView
}

export interface TimelineQuery {
  /** The number of the last entry that the caller has. */
  readonly after?: number
  readonly limit: number
}

/** Lists entries by number. A page may be shorter than `limit`; `next` is there until the last one. */
export async function getTimeline(
  ctx: Ctx<Person>,
  { path, query: { after = 0, limit } }: Path<PullAt> & Query<TimelineQuery>,
) {
  const access = await authorizeOwner(ctx, path, 'reader')
  const pull = await findPullRow(ctx, path)
  const { rows, isLast } = await listEntriesAfter(ctx.index.read, path.node_id, path.number, after, limit)
  const hasReview = rows.some(({ kind }) => kind === 'verdict')
  const stateOf = hasReview ? await readStates(ctx, access, pull) : () => 'current' as const
  const toEntry = async (row: EntryRow): Promise<TimelineEntry> => {
    const { entry, at: created } = row
    const record = parseEntry(row.body)
    const dated = { entry, ...(created !== null && { created_at: created }) }
    if (record.kind === 'comment') return { ...dated, kind: 'comment', comment: toComment(entry, record) }
    if (record.kind === 'event') return { ...dated, kind: 'event', event: toEvent(record) }
    if (record.kind !== 'verdict') return { ...dated, kind: record.kind }
    return { ...dated, kind: 'review', review: { ...toReviewText(entry, record), state: await stateOf(entry, record) } }
  }
  const entries = await Promise.all(rows.map(toEntry))
  const last = rows.at(-1)?.entry
  return { entries, ...(!isLast && last !== undefined && { next: last }) }
}
