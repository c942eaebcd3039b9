/** The first bytes of blobs, by which text is told from other bytes. */
import { LRUCache } from 'lru-cache'
import { streamBlob } from '../../../gitstore/objects/blob-stream.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { sniffedBytes } from './media-types.ts'

/** By folder and id. */
const starts = new LRUCache<string, Buffer>({ maxSize: 4_000_000, sizeCalculation: (start) => start.length + 300 })

/** @throws GitError as streamBlob */
export async function startOf(repo: Repo, oid: Oid, size: number): Promise<Buffer> {
  const key = `${repo.dir}:${oid}`
  const known = starts.get(key)
  if (known) return known
  const parts: Buffer[] = []
  const range = { from: 0, to: Math.min(size, sniffedBytes) }
  for await (const part of streamBlob(repo, oid, size, range, new AbortController().signal)) parts.push(part)
  const start = Buffer.from(Buffer.concat(parts))
  starts.set(key, start)
  return start
}
