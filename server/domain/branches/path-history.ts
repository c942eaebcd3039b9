/** History filtered by file or folder, author and time. */
import { readFilteredLog } from '../../../gitstore/history/filtered-log.ts'
import type { Oid } from '../../../gitstore/repo.ts'
import * as limits from '../../base/limits.ts'
import type { NodeAccess } from '../access.ts'
import type { Page } from '../pagination.ts'
import type { RequestCtx } from '../services.ts'
import { pathIn, readBounded } from './large-reads.ts'

export interface HistoryQuery extends Page {
  readonly path?: string
  readonly author?: string
  /** ISO 8601. */
  readonly since?: string
  readonly until?: string
}

const tooLong =
  'The history takes longer than 30 seconds to search, or more than 1,600,000 commits match. Clone the node and use git log'

export function isFiltered({ path, author, since, until }: HistoryQuery): boolean {
  return [path, author, since, until].some((one) => one !== undefined)
}

/**
 * Lists the commits that match the query.
 *
 * @throws AppError too_large, busy
 * @throws ValidationError the path is invalid
 * @throws GitError as readFilteredLog
 */
export async function listFilteredCommits(
  ctx: RequestCtx,
  { repo }: NodeAccess,
  head: Oid,
  query: HistoryQuery,
): Promise<{ total: number; oids: Oid[] }> {
  const { author } = query
  const filter = { path: pathIn(query), author, since: secondsOf(query, 'since'), until: secondsOf(query, 'until') }
  if (filter.until !== undefined && filter.until < 0) return { total: 0, oids: [] }
  const since = filter.since === undefined ? undefined : Math.max(0, filter.since)
  return readFilteredLog(repo, head, { ...filter, since }, query, (walk) =>
    readBounded(ctx, tooLong, ({ signal }) => walk({ timeoutMs: limits.filteredHistoryMs, signal })),
  )
}

/** A time of the query in whole seconds: `since` is rounded up, `until` down. */
function secondsOf(query: HistoryQuery, name: 'since' | 'until'): number | undefined {
  const text = query[name]
  if (text === undefined) return undefined
  const seconds = Date.parse(text) / 1000
  return name === 'since' ? Math.ceil(seconds) : Math.floor(seconds)
}
