/** The first bytes of blobs, which show whether they are text. */
import { LRUCache } from 'lru-cache'
import { createSemaphore } from '../../../gitstore/concurrency/semaphore.ts'
import { streamBlob } from '../../../gitstore/objects/blob-stream.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { sniffedBytes } from './media-types.ts'

/** Blobs of which the start is read at a time in this process, each by a git if it is large; milliseconds for one. */
const semaphore = createSemaphore({ running: 4 })
const timeoutMs = 10_000

/** By folder and id. */
const starts = new LRUCache<string, Buffer>({ maxSize: 4_000_000, sizeCalculation: (start) => start.length + 300 })

/** @throws GitError as streamBlob; DOMException TimeoutError */
export async function startOf(repo: Repo, oid: Oid, size: number): Promise<Buffer> {
  const key = `${repo.dir}:${oid}`
  const known = starts.get(key)
  if (known) return known
  const start = await semaphore.run({}, async () => starts.get(key) ?? readStart(repo, oid, size))
  starts.set(key, start)
  return start
}

async function readStart(repo: Repo, oid: Oid, size: number): Promise<Buffer> {
  const parts: Buffer[] = []
  const range = { from: 0, to: Math.min(size, sniffedBytes) }
  for await (const part of streamBlob(repo, oid, size, range, AbortSignal.timeout(timeoutMs))) parts.push(part)
  return Buffer.from(Buffer.concat(parts))
}
