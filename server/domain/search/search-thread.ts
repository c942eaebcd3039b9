/** The search thread of this process, as seen from the main thread: started by the first question, started anew when it dies. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { Suggestions, SuggestQuestion } from '../../../index/search/answers/suggest.ts'
import type { View } from '../../../index/search/ranking/view.ts'
import type { Retrieved, SearchQuestion } from '../../../index/search/retrieve.ts'
import { DatabaseFault } from '../../../index/sqlite/database-fault.ts'
import { Refusal } from '../../base/errors.ts'
import type { toGraphEdge } from '../graph/graph-drawing.ts'
import type { ThreadFault } from '../thread-faults.ts'
import type { Gauges } from './open-indexes.ts'

export interface ThreadOptions {
  /** The path of `index.sqlite`. */
  readonly file: string
  /** Of the segments of all organisations. */
  readonly folder: string
  /** Of all indexes together; one that is larger stays alone. */
  readonly memoryBytes: number
}

/** What the thread is asked. */
type Asking =
  /** `view`: instead of main. */
  | { readonly kind: 'search'; readonly question: SearchQuestion; readonly view?: View }
  | { readonly kind: 'suggest'; readonly question: SuggestQuestion }

export interface SearchOrder {
  readonly number: number
  readonly orgId: string
  readonly asking: Asking
}

export interface SearchAnswer extends Omit<Retrieved, 'nodes' | 'connections'> {
  readonly nodes: (Retrieved['nodes'][number] & { readonly org_id: string })[]
  readonly connections: ReturnType<typeof toGraphEdge>[]
}

/** The thread's answer to an order. */
export type Outcome =
  | { readonly kind: 'found'; readonly answer: SearchAnswer }
  | { readonly kind: 'suggested'; readonly answer: Suggestions }
  /** Nodes have changed since the view was read. */
  | { readonly kind: 'moved' }
  /** There is no such organisation any more. */
  | { readonly kind: 'missing' }
  | ThreadFault

type Answered = Extract<Outcome, { readonly answer: unknown } | { readonly kind: 'moved' }>

export type FromThread =
  | { readonly kind: 'outcome'; readonly number: number; readonly outcome: Outcome; readonly gauges: Gauges }
  /** Files of segments could not be read or written; the answers do not depend on them. */
  | { readonly kind: 'warning'; readonly code: string | undefined; readonly message: string }

export interface SearchThread {
  /** Undefined: there is no such organisation. @throws DatabaseFault; Refusal search_unavailable: the thread died twice */
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

interface Asked {
  readonly order: SearchOrder
  /** Times that the thread died over it. */
  deaths: number
  resolve(outcome: Outcome): void
  reject(error: unknown): void
}

/** Milliseconds before a thread that died is started anew; doubled for each death in a row. */
const pausesMs = { shortest: 100, longest: 10_000 } as const

/** The worker's bundle, beside this module's bundle; a run from source uses the same file. */
const bundle = new URL(
  import.meta.url.endsWith('.ts')
    ? '../../../dist/domain/search/search-worker.cjs'
    : './domain/search/search-worker.cjs',
  import.meta.url,
)

export function openSearchThread(options: ThreadOptions, observer: ThreadObserver): SearchThread {
  const asked = new Map<number, Asked>()
  let worker: Worker | undefined
  let isStarting = false
  let numbers = 0
  let deathsInARow = 0
  let known: Gauges = { documents: 0, bytes: 0, opened: 0 }
  let openedBefore = 0
  let isClosed = false

  const start = (): Worker => {
    // Without this process's options: the bundle needs no loader.
    const started = new Worker(bundle, { execArgv: [], workerData: options })
    started.unref()
    started.on('message', (message: FromThread) => {
      if (message.kind === 'warning') observer.warned(message.message, message.code)
      else {
        known = message.gauges
        deathsInARow = 0
        settle(message.number, (one) => one.resolve(message.outcome))
      }
    })
    let cause = new Error('The search thread ended')
    started.on('error', (error: Error) => {
      cause = error
    })
    started.on('exit', () => {
      if (worker === started) worker = undefined
      openedBefore += known.opened
      known = { documents: 0, bytes: 0, opened: 0 }
      if (!isClosed) observer.died(cause)
      again()
    })
    return started
  }

  /** Asks again what the dead thread was asked, once. */
  const again = () => {
    deathsInARow++
    for (const [number, one] of [...asked]) {
      if (++one.deaths > 1 || isClosed) settle(number, ({ reject }) => reject(unavailable()))
    }
    if (asked.size > 0) startSoon()
  }

  const startSoon = () => {
    const pause = Math.min(pausesMs.shortest * 2 ** (deathsInARow - 1), pausesMs.longest)
    if (isStarting) return
    isStarting = true
    void sleep(pause).then(() => {
      isStarting = false
      if (isClosed) return
      for (const { order } of asked.values()) send(order)
    })
  }

  const send = (order: SearchOrder) => {
    worker ??= start()
    worker.postMessage(order)
  }

  const settle = (number: number, how: (one: Asked) => void) => {
    const one = asked.get(number)
    if (!one) return
    asked.delete(number)
    how(one)
  }

  /** @throws as ask */
  const outcomeOf = async (orgId: string, asking: Asking): Promise<Answered | undefined> => {
    if (isClosed) throw unavailable()
    const order = { number: ++numbers, orgId, asking }
    const outcome = await new Promise<Outcome>((resolve, reject) => {
      asked.set(order.number, { order, deaths: 0, resolve, reject })
      if (worker === undefined && deathsInARow > 0) startSoon()
      else send(order)
    })
    if (outcome.kind === 'missing') return undefined
    if (outcome.kind === 'fault') throw new DatabaseFault(outcome.code, outcome.message)
    if (outcome.kind === 'error') throw new Error(`The search failed: ${outcome.message}`)
    return outcome
  }

  return {
    ask: async (orgId, question) => {
      const outcome = await outcomeOf(orgId, { kind: 'search', question })
      return outcome?.kind === 'found' ? outcome.answer : undefined
    },
    askIn: async (view, orgId, question) => {
      const outcome = await outcomeOf(orgId, { kind: 'search', question, view })
      if (outcome?.kind === 'moved') return 'moved'
      return outcome?.kind === 'found' ? outcome.answer : undefined
    },
    suggest: async (orgId, question) => {
      const outcome = await outcomeOf(orgId, { kind: 'suggest', question })
      return outcome?.kind === 'suggested' ? outcome.answer : undefined
    },
    gauges: () => ({ ...known, opened: openedBefore + known.opened }),
    close: async () => {
      isClosed = true
      for (const number of [...asked.keys()]) settle(number, ({ reject }) => reject(unavailable()))
      await worker?.terminate()
    },
  }
}

function unavailable(): Refusal {
  return new Refusal('search_unavailable', 'The search could not answer; nothing is lost, try again')
}
