/** Pages of an organisation's events. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Sees } from '../../../index/derived/sees.ts'
import { encodeCursor, type Position } from '../../../index/log/chain.ts'
import type { EventFilter, EventRow } from '../../../index/log/events.ts'
import { invalid } from '../../base/errors.ts'
import { authorizeOrg } from '../access.ts'
import type { Person } from '../actor.ts'
import type { Ctx, Services } from '../services.ts'
import type { OrgAt, Path, Query } from '../targets.ts'
import { findOrBeginLog, positionOf } from './cursors.ts'
import { readShown, readShownBefore, type ShownEvents } from './shown.ts'
import { typesOf } from './types.ts'

export interface EventQuery {
  /** A cursor, or `now`. Absent: from the oldest event that is kept. */
  readonly after?: string
  /** A cursor, or `now`: the events before it, newest first. Not together with `after`. */
  readonly before?: string
  /** Types, or patterns of them, separated by commas. */
  readonly types?: string
  readonly node_id?: string
}

/** Statements of one page that find nothing but what the filter hides. Each passes over 5,000 events. */
const mostTurns = 10

/**
 * Lists events after a cursor, oldest first, or before one, newest first. A page may be empty although the log has more.
 *
 * @throws errors of `authorizeOrg`, ValidationError, AppError cursor_gone
 */
export async function listEvents(
  ctx: Ctx<Person>,
  { path, query: { limit, ...query } }: Path<OrgAt> & Query<EventQuery & { readonly limit: number }>,
) {
  const { org, sees } = await authorizeOrg(ctx, path, 'reader')
  const filter = filterOf(ctx.actor, query)
  const log = await findOrBeginLog(ctx, org.id)
  const { after, before } = query
  if (after !== undefined && before !== undefined)
    throw invalid(['query', 'before'], 'Send either `after` or `before`, not both', before)
  const { events, next, hasMore } =
    before === undefined
      ? await readPage(readShown, ctx, sees, await positionOf(ctx, log, after, 'after'), { ...filter, limit })
      : await readPage(readShownBefore, ctx, sees, await positionOf(ctx, log, before, 'before'), {
          ...filter,
          limit,
        })
  return { events: events.map(({ body }) => JSON.parse(body)), next: encodeCursor(next), has_more: hasMore }
}

/** The filter of a reader. A token of one node reads only its events. @throws ValidationError: unknown types */
export function filterOf({ onlyNode }: Person, { types, node_id }: EventQuery): EventFilter {
  const nodeId = onlyNode ?? node_id
  const named = types === undefined ? undefined : typesOf(types.split(','), ['query', 'types'])
  return { ...(named && { types: named }), ...(nodeId === undefined ? {} : { nodeIds: [nodeId] }) }
}

/** Reads a page in bounded statements, with a turn of the event loop between two. */
async function readPage(
  readSome: typeof readShown,
  deps: Services,
  sees: Sees,
  start: Position,
  { limit, ...filter }: EventFilter & { readonly limit: number },
): Promise<ShownEvents> {
  const events: EventRow[] = []
  for (let next = start, turn = 1; ; turn++) {
    const read = await readSome(deps, sees, next, { ...filter, limit: limit - events.length })
    events.push(...read.events)
    if (!read.hasMore || events.length >= limit || turn >= mostTurns) return { ...read, events }
    next = read.next
    await nextTurn()
  }
}
