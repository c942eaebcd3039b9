/**
 * Indexes changed rows between the queries, so that the next query finds few or none. Only organisations that were
 * queried lately are followed, and only in indexes and tables that are in memory.
 *
 * It reads the versions of the organisations at intervals. A notice of each change would not come from other processes,
 * which write to the same file.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { OrgState } from '../../../index/derived/changed-nodes.ts'

/** Indexes or tables in memory. */
export interface RowReader {
  /** Returns the state up to which it has all changes. Undefined: the organisation is not in memory. */
  stateOf(orgId: string): OrgState | undefined
  /** Reads changed rows for one slice. Returns true if more are left. @throws DatabaseError */
  advance(orgId: string): Promise<boolean>
}

export interface Ahead {
  /** Runs a query of an organisation. Nothing is read ahead until it ends. @throws errors of `query` */
  during<T>(orgId: string, query: () => Promise<T>): Promise<T>
  /** Reads at once what is left. Returns true if nothing was, and no query runs. */
  settle(): Promise<boolean>
  /** True while a query runs. */
  readonly isQueried: () => boolean
  /** The number of organisations that are followed. */
  readonly followed: () => number
}

interface Options {
  readonly readers: readonly RowReader[]
  /** Reads the states of organisations at once. @throws DatabaseError */
  readonly readStates: (orgIds: readonly string[]) => ReadonlyMap<string, OrgState>
  /** Called after rows were read ahead. */
  readonly advanced: () => void
  /** Milliseconds. */
  readonly now?: () => number
}

/** Milliseconds between two looks at the versions. Changes are also left alone until none came for so long. */
const lookMs = 50
/** The number of changes that are not left to wait. */
const manyChanges = 10
/** Milliseconds after its last query in which an organisation is followed. Without any, the thread has no timer. */
const followMs = 600_000
/** The most organisations that are followed, those with the latest queries. They bound the cost of a look. */
const mostFollowed = 500

/** Starts with the first query. */
export function openAhead({ readers, readStates, advanced, now = () => performance.now() }: Options): Ahead {
  /** The times of the last queries, the oldest first. */
  const queriedAt = new Map<string, number>()
  /** The versions at the last look. */
  let seen: ReadonlyMap<string, OrgState> = new Map()
  let [queries, advances, isLooking, isSettling] = [0, 0, false, false]
  let running = Promise.resolve()

  const follow = (orgId: string) => {
    noteQuery(queriedAt, orgId, now())
    if (!isLooking) setTimeout(look, lookMs).unref()
    isLooking = true
  }

  const look = async () => {
    for (const [orgId, at] of queriedAt) if (now() - at > followMs) queriedAt.delete(orgId)
    if (queries === 0 && !isSettling) running = catchUp(false)
    await running
    isLooking = queriedAt.size > 0
    if (isLooking) setTimeout(look, lookMs).unref()
  }

  /** Errors end the following. The next query meets the same error. @param isAll also changes that are left alone */
  const catchUp = async (isAll: boolean) => {
    const open = [...queriedAt.keys()].filter((orgId) => readers.some((one) => one.stateOf(orgId) !== undefined))
    if (open.length === 0) return
    const before = seen
    try {
      seen = readStates(open)
    } catch {
      queriedAt.clear()
      return
    }
    for (const [orgId, state] of seen) {
      const isQuiet = isAll || before.get(orgId)?.version === state.version
      for (const reader of readers)
        if (isDue(reader.stateOf(orgId), state, isQuiet))
          await advanceAll(reader, orgId).catch(() => queriedAt.delete(orgId))
    }
  }

  /** Stops when a query comes, which then waits for one slice at most. */
  const advanceAll = async (reader: RowReader, orgId: string) => {
    let isLeft = queries === 0
    while (isLeft) {
      advances++
      isLeft = await reader.advance(orgId)
      advanced()
      await nextTurn()
      isLeft &&= queries === 0
    }
  }

  return {
    during: async (orgId, query) => {
      queries++
      try {
        return await query()
      } finally {
        queries--
        follow(orgId)
      }
    },
    settle: async () => {
      const before = advances
      isSettling = true
      await running.then(() => catchUp(true))
      isSettling = false
      return queries === 0 && advances === before
    },
    isQueried: () => queries > 0,
    followed: () => queriedAt.size,
  }
}

function noteQuery(queriedAt: Map<string, number>, orgId: string, nowMs: number): void {
  queriedAt.delete(orgId)
  queriedAt.set(orgId, nowMs)
  for (const [oldest, at] of queriedAt)
    if (queriedAt.size > mostFollowed || nowMs - at > followMs) queriedAt.delete(oldest)
    else break
}

function isDue(held: OrgState | undefined, state: OrgState, isQuiet: boolean): boolean {
  if (held === undefined || held.epoch !== state.epoch) return false
  const waiting = state.version - held.version
  return waiting >= manyChanges || (waiting > 0 && isQuiet)
}
