/** Keeps small blobs in memory, as commits and trees are kept. */

import { createCache } from '../caching/caches.ts'
import type { Oid, Repo } from '../repo.ts'
import { readBlob } from './objects.ts'

const smallBlobBytes = 16_384

/** Bytes of heap for a blob with its key, in addition to its content. Measured with 300 bytes of content. */
const blobOverheadBytes = 600

/** Blobs by folder and id: some 4,000 of a node's usual files, which never change. */
const blobs = createCache<Buffer>('blobs', {
  sizeCalculation: (content) => blobOverheadBytes + content.length,
})

/**
 * Does the same as readBlob, and keeps a small blob. The caller has the id from a tree, and must not change the bytes.
 * An id that a client sent needs readBlob, because an erasure may have removed that blob.
 *
 * @throws the errors of readBlob
 */
export async function readKeptBlob(repo: Repo, oid: Oid, maxBytes?: number): Promise<Buffer> {
  const key = `${repo.dir}:${oid}`
  const known = blobs.get(key)
  if (known && known.length <= (maxBytes ?? smallBlobBytes)) return known
  const content = await readBlob(repo, oid, maxBytes)
  if (content.length <= smallBlobBytes && !repo.pending?.has(oid)) blobs.set(key, copyOf(content))
  return content
}

/** Copies the bytes. A small buffer is often part of a large one, which would stay in memory. */
function copyOf(content: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(content.length)
  content.copy(copy)
  return copy
}
