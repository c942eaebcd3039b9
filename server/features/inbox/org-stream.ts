/** Reads the events of one organisation for a user in steps, the newest first. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { findSetsOf } from '../../../index/derived/change-sets.ts'
import type { Sees } from '../../../index/derived/sees.ts'
import type { Log } from '../../../index/log/events.ts'
import type { Services } from '../../domain/services.ts'
import { hashOfSubject, type ReadUpTo } from './marks.ts'
import {
  type InboxEvent,
  type InboxReason,
  type Interests,
  inboxTypes,
  interestIn,
  keyOfPull,
  parseRow,
} from './reasons.ts'
import { type InboxRow, readBefore, readOfNodesBefore, type Stretch } from './rows/events.ts'
import { subjectOf } from './subjects.ts'
import { openTrees, type TreesOf } from './trees.ts'

/** An event with its place in the inbox. */
export interface SeenEvent extends InboxEvent {
  readonly orgId: string
  readonly reason: InboxReason
  readonly subject: string
  readonly isUnread: boolean
}

/** The rows that one response may read. Streams share it. */
export interface Budget {
  /** Rows that are left for all organisations. */
  rows: number
  /** The most rows of one organisation. */
  readonly ofOrg: number
}

export interface StreamOptions {
  readonly log: Log
  readonly sees: Sees
  readonly interests: Interests
  readonly read: ReadUpTo
  /** Only events with smaller numbers. */
  readonly before: number
  readonly onlyUnread: boolean
  readonly budget: Budget
}

export class OrgStream {
  readonly orgId: string
  readonly #deps: Services
  readonly #options: StreamOptions
  readonly #treesOf: TreesOf
  /** Undefined: all nodes, because only the log itself has them in order. */
  readonly #nodeIds: readonly string[] | undefined
  /** The last number that is not wanted. */
  readonly #end: number
  #found: SeenEvent[] = []
  #read: number
  #rowsLeft: number

  constructor(deps: Services, options: StreamOptions) {
    const { log, sees, interests, read, before, onlyUnread, budget } = options
    this.orgId = log.org_id
    this.#deps = deps
    this.#options = options
    this.#treesOf = openTrees(deps.index.read, sees, interests.trees)
    this.#nodeIds = nodesOf(interests)
    this.#end = onlyUnread ? Math.max(log.base_seq, read.seq) : log.base_seq
    this.#read = Math.max(before, this.#end + 1)
    this.#rowsLeft = budget.ofOrg
  }

  /** Returns the newest event that was not taken. Undefined: there is none, or the budget is used up. */
  async head(): Promise<SeenEvent | undefined> {
    const { budget } = this.#options
    while (this.#found.length === 0 && this.#read > this.#end + 1 && this.#rowsLeft > 0 && budget.rows > 0) {
      const { rows, from, cost } = await this.#step()
      this.#rowsLeft -= cost
      budget.rows -= cost
      this.#found = await this.#select(rows)
      this.#read = from
      await nextTurn()
    }
    return this.#found[0]
  }

  take(): void {
    this.#found.shift()
  }

  /** The next page has the events with smaller numbers. */
  get next(): number {
    const [first] = this.#found
    return first ? first.seq + 1 : this.#read
  }

  get isOver(): boolean {
    return this.#found.length === 0 && this.#read <= this.#end + 1
  }

  async #step(): Promise<Stretch> {
    const range = { before: this.#read, atLeast: this.#end, types: inboxTypes }
    const { read } = this.#deps.events
    const { sees } = this.#options
    if (this.#nodeIds === undefined) return readBefore(read, sees, range)
    if (this.#nodeIds.length === 0) return { rows: [], from: this.#end + 1, cost: 0 }
    return readOfNodesBefore(read, sees, { ...range, nodeIds: this.#nodeIds })
  }

  /** Returns a function that makes an event of an item one of its change set. */
  async #setsOf(events: readonly InboxEvent[]): Promise<(event: InboxEvent) => InboxEvent> {
    const pulls = events.flatMap(({ nodeId, number }) =>
      nodeId === null || nodeId === this.orgId || number === undefined ? [] : [{ node_id: nodeId, number }],
    )
    const found = await findSetsOf(this.#deps.index.read, pulls)
    const setOf = new Map(found.map(({ node_id, number, set }) => [keyOfPull(node_id, number), set]))
    return (event) => {
      const number = setOf.get(keyOfPull(event.nodeId ?? '', event.number ?? 0))
      return number === undefined ? event : { ...event, nodeId: this.orgId, number }
    }
  }

  async #select(rows: readonly InboxRow[]): Promise<SeenEvent[]> {
    const { interests, read, onlyUnread } = this.#options
    const events = rows.map(parseRow)
    const trees = await this.#treesOf(events.flatMap(({ nodeId }) => nodeId ?? []))
    const wholeOf = await this.#setsOf(events)
    const found: SeenEvent[] = []
    for (const one of events) {
      const event = wholeOf(one)
      const isMuted = event !== one && interests.muted.has(keyOfPull(this.orgId, event.number ?? 0))
      const interest = interestIn(interests, isMuted ? event : one, trees.get(one.nodeId ?? ''))
      if (!interest) continue
      const subject = subjectOf(event)
      const last = Math.max(read.seq, read.items.get(hashOfSubject(subject)) ?? 0)
      const isUnread = event.seq > last && event.recordedMs >= interest.since
      if (isUnread || !onlyUnread)
        found.push({ ...event, orgId: this.orgId, reason: interest.reason, subject, isUnread })
    }
    return found
  }
}

/** The nodes whose events matter. Undefined: those of the whole log may. */
function nodesOf({ orgSince, trees, nodes, involved }: Interests): string[] | undefined {
  if (orgSince !== undefined || trees.size > 0) return undefined
  const ids = new Set(nodes.keys())
  for (const key of involved) ids.add(key.split(' ', 1)[0] ?? '')
  return [...ids]
}
