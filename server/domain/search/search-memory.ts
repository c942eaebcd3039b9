/** The search indexes in memory, and which of them are dropped if they take too much. */
import { LRUCache } from 'lru-cache'
import { heapOf, type SearchIndex } from '../../../index/search/retrieve.ts'
import { Refusal } from '../../errors.ts'

export interface OrgSearch {
  index: SearchIndex
  /** The epoch of the organisation's row, to which the versions belong. */
  readonly epoch: string
  /** The versions up to which nodes and tombstones are indexed. */
  nodes: number
  tombstones: number
  /** Waiting and running queries. They run one at a time, never during an update. */
  asked: number
  turn: Promise<unknown>
  /** Dropped; running queries on it end. */
  isDropped: boolean
}

/** Least recently used first. */
export type SearchCache = LRUCache<string, OrgSearch>

/** Estimated heap bytes of all indexes in the process: room for one of the largest, and some more. */
const limitBytes = 1_024 * 1_048_576

export function openSearches(): SearchCache {
  return new LRUCache({
    max: 64,
    dispose: (search, _orgId, reason) => {
      // An index of another epoch still serves its running queries.
      search.isDropped = reason !== 'set'
    },
  })
}

/**
 * Makes room for `mine`, which has grown: drops indexes without waiting queries, least recently used first, then the largest.
 *
 * @throws Refusal busy if `mine` itself was dropped
 */
export function makeRoom(searches: SearchCache, mine: OrgSearch): void {
  let taken = [...searches.values()].reduce((sum, { index }) => sum + heapOf(index), 0)
  if (taken > limitBytes) {
    const all = [...searches.entries()].toReversed()
    const idle = all.filter(([, { asked }]) => asked === 0)
    const atWork = all.filter(([, { asked }]) => asked > 0).sort(([, a], [, b]) => heapOf(b.index) - heapOf(a.index))
    for (const [orgId, { index }] of [...idle, ...atWork]) {
      if (taken <= limitBytes) break
      taken -= heapOf(index)
      searches.delete(orgId)
    }
  }
  if (mine.isDropped) throw new Refusal('busy', 'Too many organisations are searched at this moment; try again')
}
