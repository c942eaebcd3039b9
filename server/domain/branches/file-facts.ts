/** The size, media type and pixels of a file. Pages need them before a browser loads it. */
import { createCache } from '../../../gitstore/caching/caches.ts'
import { isGitError } from '../../../gitstore/errors.ts'
import { blobSize } from '../../../gitstore/objects/blob-stream.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import * as limits from '../../base/limits.ts'
import { mediaTypeOf, readBlobHeader, readBlobStart } from './media-types.ts'
import { type PictureSize, pictureSize } from './picture-size.ts'

export interface FileFacts extends Partial<PictureSize> {
  /** Bytes. */
  readonly size: number
  readonly media_type: string
}

/** Facts by folder, id and file extension. A blob never changes, so neither do they. */
const kept = createCache<FileFacts>('file_facts')

/**
 * Reads the facts of a blob. The first time it reads up to 64 KiB, never a large blob as a whole.
 *
 * @returns undefined if the blob is damaged, or could not be read in time
 */
export async function readFileFacts(repo: Repo, oid: Oid, name: string): Promise<FileFacts | undefined> {
  const ending = /\.[^./]{1,20}$/.exec(name)?.[0].toLowerCase() ?? ''
  const key = `${repo.dir}:${oid}${ending}`
  const known = kept.get(key)
  if (known) return known
  try {
    const facts = await readFacts(repo, oid, name)
    kept.set(key, facts)
    return facts
  } catch (error) {
    const isLate = error instanceof DOMException && error.name === 'TimeoutError'
    if (isLate || isGitError(error, 'object_damaged') || isGitError(error, 'object_missing')) return undefined
    throw error
  }
}

async function readFacts(repo: Repo, oid: Oid, name: string): Promise<FileFacts> {
  const size = await blobSize(repo, oid)
  const start = await readBlobStart(repo, oid, size)
  const { type } = mediaTypeOf(name, start)
  const facts = { size, media_type: type }
  if (!type.startsWith('image/')) return facts
  const isWhole = start.length >= Math.min(size, limits.pictureHeadBytes)
  const found =
    pictureSize(type, start) ??
    (isWhole ? undefined : pictureSize(type, await readBlobHeader(repo, oid, size, limits.pictureHeadBytes)))
  return { ...facts, ...found }
}
