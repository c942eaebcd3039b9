/** The search thread of this process, as seen from the main thread. */
import type { Filter } from '../../../index/properties/filter.ts'
import type { PropertyAnswer, PropertyQuestion } from '../../../index/properties/query.ts'
import type { NamedKinds } from '../../../index/properties/table.ts'
import type { Suggestions, SuggestQuestion } from '../../../index/search/answers/suggest.ts'
import type { View } from '../../../index/search/ranking/view.ts'
import { AppError } from '../../base/errors.ts'
import type { toGraphEdge } from '../format/graph-edges.ts'
import { WorkerClient, workerBundle } from '../worker-client.ts'
import type { FilteredAnswer, FilteredQuestion } from './filtered-search.ts'
import type { Gauges } from './org-memory.ts'
import { addCounts, type Patient, type Unindexed } from './slices.ts'
import type { BrokenPage, Impact, JudgedType } from './type-judging.ts'

export interface ThreadOptions {
  /** The path of `index.sqlite`. */
  readonly file: string
  /** The path of `vectors.sqlite`, which may be missing. */
  readonly vectorsFile: string
  /** The folder of the segments of all organisations. */
  readonly folder: string
  /**
   * The memory for all indexes and tables. An index larger than this is kept, and all others are dropped. Tables are
   * dropped before indexes.
   */
  readonly memoryBytes: number
}

export interface SearchAnswer extends Omit<FilteredAnswer, 'nodes' | 'connections'> {
  readonly nodes: (FilteredAnswer['nodes'][number] & { readonly org_id: string })[]
  readonly connections: ReturnType<typeof toGraphEdge>[]
}

/** The calls that the thread serves. They return undefined if the organisation does not exist. */
export interface SearchCalls {
  /** Returns 'moved' if nodes have changed since the view was read. */
  search(input: SearchInput): SearchAnswer | 'moved' | undefined
  suggest(input: {
    readonly orgId: string
    readonly question: SuggestQuestion & Patient
  }): (Suggestions & Unindexed) | undefined
  /** Lists nodes by their properties. Returns 'moved' as search does. */
  query(input: QueryInput): PropertyAnswer | 'moved' | undefined
  listProperties(input: { readonly orgId: string }): readonly NamedKinds[] | undefined
  /** Lists the ids of all nodes that match a filter. */
  matching(input: { readonly orgId: string; readonly where: Filter }): readonly string[] | undefined
  /** Counts the nodes of main by the text of their property `type`. */
  countTypes(input: { readonly orgId: string }): readonly TypeCount[] | undefined
  listBroken(input: BrokenInput): BrokenPage | undefined
  compareTypes(input: CompareInput): Impact | undefined
  /** Builds an index before its first query, for some seconds. Returns true if more is left. */
  prepare(input: { readonly orgId: string }): boolean
  settle(input: undefined): boolean
}

interface TypeCount {
  readonly text: string
  readonly nodes: number
}

interface BrokenInput {
  readonly orgId: string
  readonly judged: JudgedType
  readonly page: { readonly offset: number; readonly limit: number }
}

interface CompareInput {
  readonly orgId: string
  readonly before: JudgedType
  readonly after: JudgedType
}

interface SearchInput {
  readonly orgId: string
  readonly question: FilteredQuestion
  /** The state that is searched instead of main. */
  readonly view?: View
}

interface QueryInput {
  readonly orgId: string
  readonly question: PropertyQuestion
  /** The state that is listed instead of main. */
  readonly view?: View
}

interface ThreadGauges extends Gauges {
  /** Estimated bytes of the vectors of nodes, which `bytes` includes. */
  readonly vectorBytes: number
}

/** Notices of the thread in addition to its answers. */
export type SearchNotice =
  /** Sent before each answer, and after each slice that was read ahead. */
  | { readonly kind: 'gauges'; readonly gauges: ThreadGauges }
  /** Segment files could not be read or written. Answers do not depend on them. */
  | { readonly kind: 'warning'; readonly code: string | undefined; readonly message: string }

export interface SearchThread {
  /**
   * Searches main. Returns undefined if the organisation does not exist.
   *
   * @throws DatabaseError; AppError search_unavailable: the thread died twice
   */
  ask(orgId: string, question: FilteredQuestion): Promise<SearchAnswer | undefined>
  /** Searches a view, otherwise the same as ask. Returns 'moved' if nodes have changed since the view was read. */
  askIn(view: View, orgId: string, question: FilteredQuestion): Promise<SearchAnswer | 'moved' | undefined>
  /** Suggests titles. Otherwise the same as ask. */
  suggest(orgId: string, question: SuggestQuestion & Patient): Promise<(Suggestions & Unindexed) | undefined>
  /** Lists nodes of main by their properties. Otherwise the same as ask. */
  query(orgId: string, question: PropertyQuestion): Promise<PropertyAnswer | undefined>
  /** Lists nodes of a view by their properties. Otherwise the same as askIn. */
  queryIn(view: View, orgId: string, question: PropertyQuestion): Promise<PropertyAnswer | 'moved' | undefined>
  /** Lists the names of properties. Otherwise the same as ask. */
  listProperties(orgId: string): Promise<readonly NamedKinds[] | undefined>
  /** Lists the ids of all nodes of main that match. Otherwise the same as ask. */
  matching(orgId: string, where: Filter): Promise<readonly string[] | undefined>
  /** Counts the nodes of main by the text of their property `type`. Otherwise the same as ask. */
  countTypes(orgId: string): Promise<readonly TypeCount[] | undefined>
  /** Lists the nodes of main that break rules of a type, the oldest first. Otherwise the same as ask. */
  listBroken(input: BrokenInput): Promise<BrokenPage | undefined>
  /** Says what a definition changes for the nodes of main. Otherwise the same as ask. */
  compareTypes(input: CompareInput): Promise<Impact | undefined>
  /** Builds an index before its first query, for some seconds. Returns true if more is left. */
  prepare(orgId: string, signal: AbortSignal): Promise<boolean>
  gauges(): ThreadGauges
  /** Reads at once what is left to read ahead. Returns true if nothing was, and no query runs. */
  settle(): Promise<boolean>
  /** Ends the thread; nothing is lost. */
  close(): Promise<void>
}

/** Observes faults of the thread. */
interface ThreadObserver {
  warned(message: string, code: string | undefined): void
  died(error: Error): void
}

const noGauges: ThreadGauges = { documents: 0, bytes: 0, vectorBytes: 0, opened: 0, rows: { query: 0, ahead: 0 } }

type Counts = Pick<Gauges, 'opened' | 'rows'>

function addCountsOf(one: Counts, other: Counts): Counts {
  return { opened: one.opened + other.opened, rows: addCounts(one.rows, other.rows) }
}

/** Opens the search thread, which starts with the first query and restarts if it dies. */
export function openSearchThread(options: ThreadOptions, observer: ThreadObserver): SearchThread {
  let known = noGauges
  /** The counts of threads that have ended. */
  let past: Counts = noGauges
  const client = new WorkerClient<SearchCalls, SearchNotice>({
    name: 'The search thread',
    bundle: workerBundle('domain/search/search-worker.cjs'),
    data: options,
    failure: 'The search failed',
    restartPausesMs: { shortest: 100, longest: 10_000 },
    lost: () => new AppError('search_unavailable', 'The search failed; nothing is lost, try again in a moment'),
    noticed: (notice) => {
      if (notice.kind === 'warning') observer.warned(notice.message, notice.code)
      else known = notice.gauges
    },
    ended: (cause) => {
      past = addCountsOf(past, known)
      known = noGauges
      if (cause) observer.died(cause)
    },
  })
  return {
    ask: async (orgId, question) => {
      const answer = await client.ask('search', { orgId, question })
      // Only a view can be 'moved'.
      return answer === 'moved' ? undefined : answer
    },
    askIn: (view, orgId, question) => client.ask('search', { orgId, question, view }),
    suggest: (orgId, question) => client.ask('suggest', { orgId, question }),
    query: async (orgId, question) => {
      const answer = await client.ask('query', { orgId, question })
      return answer === 'moved' ? undefined : answer
    },
    queryIn: (view, orgId, question) => client.ask('query', { orgId, question, view }),
    listProperties: (orgId) => client.ask('listProperties', { orgId }),
    matching: (orgId, where) => client.ask('matching', { orgId, where }),
    countTypes: (orgId) => client.ask('countTypes', { orgId }),
    listBroken: (input) => client.ask('listBroken', input),
    compareTypes: (input) => client.ask('compareTypes', input),
    prepare: (orgId, signal) => client.ask('prepare', { orgId }, signal),
    settle: async () => !client.isRunning || client.ask('settle', undefined),
    gauges: () => ({ ...known, ...addCountsOf(past, known) }),
    close: () => client.close(),
  }
}
