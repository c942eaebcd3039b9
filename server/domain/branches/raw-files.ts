/** The bytes of a file of any size at a revision, with their media type. */
import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type ByteRange, blobSize, smallBytes, streamBlob } from '../../../gitstore/objects/blob-stream.ts'
import { findEntry } from '../../../gitstore/objects/trees.ts'
import { isOid, type Oid } from '../../../gitstore/repo.ts'
import { AppError } from '../../base/errors.ts'
import { authorizeNode } from '../access.ts'
import { callerOf } from '../actor.ts'
import { createCallerSemaphore } from '../caller-semaphore.ts'
import type { RequestCtx } from '../services.ts'
import type { FileAt, Path } from '../targets.ts'
import { mediaTypeOf, readBlobStart } from './media-types.ts'
import { readTree, resolveRevision } from './revisions.ts'

/** Limits the files that are sent at once. A slow client holds its slot. */
const semaphore = createCallerSemaphore({
  all: { running: 16, waiting: 256 },
  person: { running: 6, waiting: 32 },
  address: { running: 2, waiting: 32 },
  anonymous: { running: 6, waiting: 192 },
  waitTimeoutMs: 30_000,
  refusal: 'Too many files are being sent; try again in a moment',
})

/** Bytes of a small file that need no slot. A connection buffers them, however slow its client is. */
const withoutSlot = 65_536

export interface RawFile {
  /** The last part of the path. */
  readonly name: string
  readonly oid: Oid
  /** Bytes. */
  readonly size: number
  readonly type: string
  /** True if browsers may show it inline. */
  readonly isShown: boolean
  /** True if the URL names these bytes for ever. */
  readonly isImmutable: boolean
  /**
   * Writes the range and ends `sink`. `by` has the signal that aborts it, and the reader's IP address.
   *
   * @throws AppError busy, before the first byte
   * @throws GitError as streamBlob; the signal's reason
   */
  send(sink: Writable, range: ByteRange, by: { readonly signal: AbortSignal; readonly from: string }): Promise<void>
}

/**
 * Opens a file. The bytes of a symbolic link are its target path.
 *
 * @throws AppError branch_not_found, file_not_found; GitError as readInfo
 */
export async function getRaw(ctx: RequestCtx, { path }: Path<FileAt>): Promise<RawFile> {
  const access = await authorizeNode(ctx, path, 'public')
  const { repo } = access
  const head = await resolveRevision(access, path.branch)
  const entry = head === null ? undefined : await findEntry(repo, await readTree(repo, head), path.path)
  if (!entry || entry.mode === '040000' || entry.mode === '160000')
    throw new AppError('file_not_found', 'File not found')
  const { oid, name } = entry
  const size = await blobSize(repo, oid)
  return {
    ...{ name, oid, size, isImmutable: isOid(path.branch) },
    ...mediaTypeOf(name, await readBlobStart(repo, oid, size)),
    send: (sink, range, { signal }) => {
      const send = () => sendParts(streamBlob(repo, oid, size, range, signal), sink, signal)
      if (size <= smallBytes && range.to - range.from <= withoutSlot) return send()
      return semaphore.run({ caller: callerOf(ctx), signal }, send)
    },
  }
}

/** Sends the parts. Reads the first before the pipeline starts, so that a fault can still be answered on the sink. */
async function sendParts(parts: AsyncGenerator<Uint8Array>, sink: Writable, signal: AbortSignal): Promise<void> {
  try {
    const first = await parts.next()
    const all = async function* () {
      for (let part = first; !part.done; part = await parts.next()) yield part.value
    }
    await pipeline(all, sink, { signal })
  } finally {
    await parts.return(undefined)
  }
}
