/** Reads repositories in two worker threads while the index is rebuilt. They start on demand and end when idle. */
import type { Services } from '../services.ts'
import { WorkerClient, workerBundle } from '../worker-client.ts'
import type { ReadUnknown, UnknownNode } from './unknown-nodes.ts'

/** Nodes to read. */
export interface ReadOrder {
  /** The folder of the repositories, and the folder of the databases. */
  readonly root: string
  readonly databases: string
  readonly orgId: string
  readonly nodeIds: readonly string[]
}

/** The calls that the thread serves. */
export interface ReadCalls {
  read(order: ReadOrder): UnknownNode[]
}

const threads = [newThread(), newThread()] as const

function newThread(): WorkerClient<ReadCalls> {
  return new WorkerClient<ReadCalls>({
    name: 'The thread that reads repositories',
    bundle: workerBundle('domain/indexing/read-worker.cjs'),
    failure: 'Repositories could not be read',
    // A hundred nodes take a tenth of a second, and those with long histories many times that.
    timeoutMs: 300_000,
    idleMs: 5_000,
  })
}

/** Returns a function that reads in two threads. If one fails, indexing reads its nodes. */
export function readInThreads({ config, store, log }: Pick<Services, 'config' | 'store' | 'log'>): ReadUnknown {
  const read = (thread: WorkerClient<ReadCalls>, orgId: string, nodeIds: readonly string[]) =>
    thread.ask('read', { root: store.root, databases: config.dataDir, orgId, nodeIds }).catch((error: unknown) => {
      log.warn({ err: error, orgId }, 'nodes are read one by one')
      return []
    })
  return async (orgId, nodeIds) => {
    const half = Math.ceil(nodeIds.length / threads.length)
    const parts = threads.map((thread, at) => read(thread, orgId, nodeIds.slice(at * half, (at + 1) * half)))
    return (await Promise.all(parts)).flat()
  }
}
