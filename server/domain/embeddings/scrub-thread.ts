/** Removes the bytes of deleted vectors in a worker thread. It starts on demand and ends when idle. */
import { WorkerClient, workerBundle } from '../worker-client.ts'

/** The calls that the thread serves. */
export interface ScrubCalls {
  /** @param file the path of `vectors.sqlite` */
  scrub(file: string): void
}

const client = new WorkerClient<ScrubCalls>({
  name: 'The thread that removes deleted vectors',
  bundle: workerBundle('domain/embeddings/scrub-worker.cjs'),
  failure: 'Deleted vectors could not be removed from the file',
  // A gigabyte takes about 10 s, and a slow disk ten times as long.
  timeoutMs: 300_000,
  idleMs: 1_000,
})

/**
 * Writes `vectors.sqlite` again without the bytes of deleted rows, and empties its log.
 *
 * @throws DatabaseError busy, storage_*
 * @throws Error the thread died, or took five minutes; the next call starts another
 */
export function scrubInThread(file: string): Promise<void> {
  return client.ask('scrub', file)
}
