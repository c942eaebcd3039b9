/** Draws graphs and maps in a worker thread. It starts on demand and ends when idle. */
import type { Counted } from '../../../index/graph/graph-counts.ts'
import { WorkerClient, workerBundle } from '../worker-client.ts'
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

/** What the thread does. */
export interface GraphCalls {
  /** Undefined: the organisation, or the node that the map is of, does not exist. */
  draw(order: Order): Drawn | undefined
}

const client = new WorkerClient<GraphCalls>({
  name: 'The thread that draws graphs',
  bundle: workerBundle('domain/graph/graph-worker.cjs'),
  failure: 'The graph could not be drawn',
  // 100,000 nodes take seconds.
  timeoutMs: 300_000,
  // Starting it takes about 50 ms.
  idleMs: 10_000,
})

/**
 * The graph or map at some moment after the call; undefined if the organisation, or the node that the map is of, does not exist
 * then. The thread works at one order at a time: call it again only after it has settled.
 *
 * @throws DatabaseError busy, storage_error; Error if the thread died, perhaps for lack of memory, or took five minutes: the
 *   next call starts another
 */
export function drawInThread(order: Order): Promise<Drawn | undefined> {
  return client.ask('draw', order)
}
