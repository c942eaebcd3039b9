/** Draws graphs and maps in a worker thread. It starts on demand and ends when idle. */
import type { Counted } from '../../../index/graph/graph-counts.ts'
import { WorkerClient, workerBundle } from '../../domain/worker-client.ts'
import type { MapPart } from './map-drawing.ts'
import type { Places } from './map-layout.ts'

/** Figures in shared memory, valid for one epoch and `graph_version` of an organisation. */
export interface Figures {
  readonly graphVersion: string
  readonly counted: Counted
  /** Absent until a map has been drawn. */
  readonly places?: Places
}

export interface Order {
  /** The path of `index.sqlite`. */
  readonly file: string
  readonly orgId: string
  /** Draws only this node and its descendants, as if they were the organisation. */
  readonly under?: string
  /** The part of the map to draw; absent: the graph. */
  readonly map?: MapPart
  /** Earlier figures, used if they are still valid. */
  readonly known: Figures | undefined
}

export interface Drawn {
  /** Epoch and version of the rows. */
  readonly version: string
  /** True if the organisation was published at that version. */
  readonly published: boolean
  /** Gzipped JSON. */
  readonly gzip: Uint8Array<ArrayBuffer>
  /** Bytes of the JSON. */
  readonly length: number
  /** Absent with `under` of the order. */
  readonly figures?: Figures
}

/** The calls that the thread serves. */
export interface GraphCalls {
  /** Returns undefined if the organisation, or the part's node, does not exist. */
  draw(order: Order): Drawn | undefined
}

const client = new WorkerClient<GraphCalls>({
  name: 'The thread that draws graphs',
  bundle: workerBundle('features/graph/graph-worker.cjs'),
  failure: 'The graph could not be drawn',
  // 100,000 nodes take seconds.
  timeoutMs: 300_000,
  // Starting it takes about 50 ms.
  idleMs: 10_000,
})

/**
 * Draws the graph or map as it is at some time after the call. Returns undefined if the organisation, or the part's
 * node, does not exist then. The thread handles one order at a time: call it again only after it has settled.
 *
 * @throws DatabaseError busy, storage_error
 * @throws Error the thread died, for example for lack of memory, or took five minutes; the next call starts another
 */
export function drawInThread(order: Order): Promise<Drawn | undefined> {
  return client.ask('draw', order)
}
