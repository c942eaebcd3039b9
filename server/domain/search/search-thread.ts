/** The search thread of this process, as seen from the main thread. */
import type { Suggestions, SuggestQuestion } from '../../../index/search/answers/suggest.ts'
import type { View } from '../../../index/search/ranking/view.ts'
import type { Retrieved, SearchQuestion } from '../../../index/search/retrieve.ts'
import { AppError } from '../../base/errors.ts'
import type { toGraphEdge } from '../graph/graph-drawing.ts'
import { WorkerClient, workerBundle } from '../worker-client.ts'
import type { Gauges } from './open-indexes.ts'

export interface ThreadOptions {
  /** The path of `index.sqlite`. */
  readonly file: string
  /** Of the segments of all organisations. */
  readonly folder: string
  /** Of all indexes together; one that is larger stays alone. */
  readonly memoryBytes: number
}

export interface SearchAnswer extends Omit<Retrieved, 'nodes' | 'connections'> {
  readonly nodes: (Retrieved['nodes'][number] & { readonly org_id: string })[]
  readonly connections: ReturnType<typeof toGraphEdge>[]
}

/** What the thread does; undefined: the organisation does not exist. */
export interface SearchCalls {
  /** 'moved': nodes have changed since the view was read. */
  search(input: SearchInput): SearchAnswer | 'moved' | undefined
  suggest(input: { readonly orgId: string; readonly question: SuggestQuestion }): Suggestions | undefined
}

interface SearchInput {
  readonly orgId: string
  readonly question: SearchQuestion
  /** Searched instead of main. */
  readonly view?: View
}

/** What the thread says beside its answers. */
export type SearchNotice =
  /** Before each answer. */
  | { readonly kind: 'gauges'; readonly gauges: Gauges }
  /** Files of segments could not be read or written; the answers do not depend on them. */
  | { readonly kind: 'warning'; readonly code: string | undefined; readonly message: string }

export interface SearchThread {
  /** Undefined: there is no such organisation. @throws DatabaseError; AppError search_unavailable: the thread died twice */
  ask(orgId: string, question: SearchQuestion): Promise<SearchAnswer | undefined>
  /** As ask; 'moved': nodes have changed since the view was read. */
  askIn(view: View, orgId: string, question: SearchQuestion): Promise<SearchAnswer | 'moved' | undefined>
  /** As ask. */
  suggest(orgId: string, question: SuggestQuestion): Promise<Suggestions | undefined>
  gauges(): Gauges
  /** Ends the thread; nothing is lost. */
  close(): Promise<void>
}

/** Observes faults of the thread. */
interface ThreadObserver {
  warned(message: string, code: string | undefined): void
  died(error: Error): void
}

/** The thread starts with the first question, and again if it dies. */
export function openSearchThread(options: ThreadOptions, observer: ThreadObserver): SearchThread {
  let known: Gauges = { documents: 0, bytes: 0, opened: 0 }
  let openedBefore = 0
  const client = new WorkerClient<SearchCalls, SearchNotice>({
    name: 'The search thread',
    bundle: workerBundle('domain/search/search-worker.cjs'),
    data: options,
    failure: 'The search failed',
    restartPausesMs: { shortest: 100, longest: 10_000 },
    lost: () => new AppError('search_unavailable', 'The search could not answer; nothing is lost, try again'),
    noticed: (notice) => {
      if (notice.kind === 'warning') observer.warned(notice.message, notice.code)
      else known = notice.gauges
    },
    ended: (cause) => {
      openedBefore += known.opened
      known = { documents: 0, bytes: 0, opened: 0 }
      if (cause) observer.died(cause)
    },
  })
  return {
    ask: async (orgId, question) => {
      const answer = await client.ask('search', { orgId, question })
      // Only a view moves.
      return answer === 'moved' ? undefined : answer
    },
    askIn: (view, orgId, question) => client.ask('search', { orgId, question, view }),
    suggest: (orgId, question) => client.ask('suggest', { orgId, question }),
    gauges: () => ({ ...known, opened: openedBefore + known.opened }),
    close: () => client.close(),
  }
}
