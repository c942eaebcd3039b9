/** The search indexes in memory, and which of them give way where they take too much. */
import { LRUCache } from 'lru-cache'
import { heapOf, type SearchIndex } from '../../../index/search/retrieve.ts'
import { Refusal } from '../../errors.ts'

export interface OrgSearch {
  index: SearchIndex
  /** Of the organisation's row that the versions belong to. */
  readonly epoch: string
  /** The organisation's versions up to which nodes and tombstones are in the index. */
  nodes: number
  tombstones: number
  /** Questions that wait or are being answered: one at a time, between two changes, never within one. */
  asked: number
  turn: Promise<unknown>
  /** Given up for others; what is at work on it ends. */
  isDropped: boolean
}

/** The least used are dropped first. */
export type SearchCache = LRUCache<string, OrgSearch>

/** Bytes of heap of all indexes of the process, estimated: one of the largest, and some. */
const limitBytes = 1_024 * 1_048_576

export function openSearches(): SearchCache {
  return new LRUCache({
    max: 64,
    dispose: (search, _orgId, reason) => {
      // One that has another epoch now answers those who have asked it.
      search.isDropped = reason !== 'set'
    },
  })
}

/**
 * Makes room for `mine`, which has grown: indexes that nobody waits for go, the least used first, then the largest.
 *
 * @throws Refusal busy, where `mine` itself had to go
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
