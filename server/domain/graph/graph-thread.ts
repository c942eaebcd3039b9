/** Draws graphs and maps in a worker thread. It starts on demand and ends when idle. */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Counted } from '../../../index/graph/graph-counts.ts'
import { DatabaseFault } from '../../../index/sqlite/database.ts'
import type { ThreadFault } from '../thread-faults.ts'
import type { MapPart } from './map-drawing.ts'
import type { Places } from './map-layout.ts'

/** Valid for one epoch and `graph_version` of an organisation. In shared memory. */
export interface Figures {
  readonly graphVersion: string
  readonly counted: Counted
  /** Absent until a map was drawn. */
  readonly places?: Places
}

export interface Order {
  /** The path of `index.sqlite`. */
  readonly file: string
  readonly orgId: string
  /** Absent: the graph. */
  readonly map?: MapPart
  /** Used if still valid. */
  readonly known: Figures | undefined
}

export interface Drawn {
  /** Epoch and version of the rows. */
  readonly version: string
  /** Whether the organisation was published at that version. */
  readonly published: boolean
  /** Gzipped JSON. */
  readonly gzip: Uint8Array<ArrayBuffer>
  /** Bytes of the JSON. */
  readonly length: number
  readonly figures: Figures
}

/** The thread's response. */
export type Outcome = { readonly kind: 'drawn'; readonly drawn: Drawn } | { readonly kind: 'missing' } | ThreadFault

/** Milliseconds for one order; 100,000 nodes take seconds. */
const orderTimeoutMs = 300_000
/** Milliseconds without an order after which the thread ends; starting it takes about 50 ms. */
const idleTimeoutMs = 10_000

/** The worker's bundle, beside this module's bundle; a run from source uses the same file. */
const bundle = new URL(
  import.meta.url.endsWith('.ts') ? '../../../dist/domain/graph/graph-worker.cjs' : './domain/graph/graph-worker.cjs',
  import.meta.url,
)

let thread: Worker | undefined
let idle: NodeJS.Timeout | undefined

/**
 * The graph or map at some moment after the call; undefined if the organisation, or the node that the map is of, does not exist
 * then. The thread takes one order at a time: call it again only after it has settled.
 *
 * @throws DatabaseFault busy, storage_error; Error if the thread died, perhaps for lack of memory, or took five minutes: the
 *   next call starts another
 */
export async function drawInThread(order: Order): Promise<Drawn | undefined> {
  clearTimeout(idle)
  const outcome = await ask(order)
  idle = setTimeout(endThread, idleTimeoutMs).unref()
  if (outcome.kind === 'drawn') return outcome.drawn
  if (outcome.kind === 'missing') return undefined
  if (outcome.kind === 'fault') throw new DatabaseFault(outcome.code, outcome.message)
  throw new Error(`The graph could not be drawn: ${outcome.message}`)
}

async function ask(order: Order): Promise<Outcome> {
  thread ??= startThread()
  const worker = thread
  const answered = new AbortController()
  const { signal } = answered
  // Keeps the process alive only while it works.
  worker.ref()
  const overdue = setTimeout(() => void worker.terminate(), orderTimeoutMs)
  try {
    const answer = once(worker, 'message', { signal })
    const end = once(worker, 'exit', { signal }).then(([code]) => {
      throw new Error(`The thread that draws graphs ended with code ${code}`)
    })
    worker.postMessage(order)
    const [outcome] = await Promise.race([answer, end])
    return outcome
  } finally {
    clearTimeout(overdue)
    answered.abort()
    worker.unref()
  }
}

function startThread(): Worker {
  // Without this process's options: the bundle needs no loader.
  const worker = new Worker(bundle, { execArgv: [] })
  // The waiting call gets this error; an exit event comes after it.
  worker.on('error', () => {})
  worker.on('exit', () => {
    if (thread === worker) thread = undefined
  })
  return worker
}

function endThread(): void {
  const worker = thread
  thread = undefined
  void worker?.terminate()
}
