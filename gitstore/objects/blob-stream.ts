/** Streams blobs of any size. Holds only small parts of a large blob in memory. */

import { createHash } from 'node:crypto'
import { GitError } from '../errors.ts'
import { killGroup, spawnGit, toStartError } from '../native.ts'
import type { Oid, Repo } from '../repo.ts'
import { catFileMemory } from './cat-file-process.ts'
import { readBlob, readInfo } from './objects.ts'

/**
 * The largest blob that is read at once. It is compared with its id before the first byte is passed on. A larger blob
 * needs a Git process.
 */
export const smallBytes = 1_048_576
/** The time limit for one blob. Its reader may be slow. */
const timeoutMs = 60 * 60_000
const maxErrorCharacters = 4_096

/** The bytes from `from` up to, but not including, `to`. */
export interface ByteRange {
  readonly from: number
  readonly to: number
}

/** @throws GitError object_missing (also if `oid` is not a blob), and the errors of readInfo */
export async function blobSize(repo: Repo, oid: Oid): Promise<number> {
  const { type, size } = await readInfo(repo, oid)
  if (type !== 'blob') throw new GitError('object_missing', `Object ${oid} is a ${type}, not a blob`, { oid })
  return size
}

/**
 * Yields the bytes of the range, in pieces. Git inflates a large blob from its start, so a range also costs the bytes
 * before it. A large blob that is read whole is compared with its id before its last piece is passed on. Git ends when
 * the reader stops.
 *
 * @throws GitError object_damaged, and the errors of readBlob
 * @throws the signal's reason
 */
export async function* streamBlob(
  repo: Repo,
  oid: Oid,
  size: number,
  { from, to }: ByteRange,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  signal.throwIfAborted()
  if (size <= smallBytes) {
    yield (await readBlob(repo, oid)).subarray(from, to)
    return
  }
  const child = spawnGit(repo, [...catFileMemory, 'cat-file', 'blob', oid], { timeoutMs })
  const end = () => killGroup(child)
  let stderr = ''
  let fault: GitError | undefined
  child.once('error', (cause) => {
    fault = toStartError(cause)
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-maxErrorCharacters)
  })
  child.stdin.end()
  signal.addEventListener('abort', end, { once: true })
  const hash = from === 0 && to === size ? createHash('sha1').update(`blob ${size}\0`) : undefined
  try {
    let at = 0
    let last: Buffer | undefined
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
      // No encoding is set, so chunks are Buffers.
      const begin = at
      at += chunk.length
      hash?.update(chunk)
      const part = chunk.subarray(Math.max(0, from - begin), Math.max(0, to - begin))
      if (part.length > 0) {
        if (last) yield last
        last = part
      }
      if (at >= to && !hash) break
    }
    signal.throwIfAborted()
    const isWhole = hash ? at === size && hash.digest('hex') === oid : at >= to
    if (!isWhole) throw fault ?? new GitError('object_damaged', `Object ${oid} is damaged`, { oid, stderr })
    if (last) yield last
  } finally {
    signal.removeEventListener('abort', end)
    end()
  }
}
