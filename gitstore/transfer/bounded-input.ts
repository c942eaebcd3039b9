/** Reads a Git client's request before Git starts. Reads frame by frame, within a limit of bytes. */

import type { Readable } from 'node:stream'
import { codeOf, GitError } from '../errors.ts'
import { type Pkt, pktBuffer } from './pkt-line.ts'

export interface ReadOptions {
  /** The limit of inflated bytes of frames. */
  readonly limitBytes: number
  /** Called with the size of each chunk. An exception ends the reading. */
  readonly hold: (bytes: number) => void
  /** Ends the reading. Its reason is thrown. */
  readonly signal: AbortSignal
}

/**
 * Calls `take` with each frame of `input` until it returns true or `input` ends. Returns which of the two happened.
 * Bytes after the last frame stay in `input`, which is paused. This is also true if this function throws, so no more of
 * the input is inflated, and the next call continues there.
 *
 * @throws GitError limit_exceeded, malformed_request (a frame or the compression is cut off)
 * @throws the reason of `signal`, and any error of `take` and `hold`
 */
export function readFrames(
  input: Readable,
  { limitBytes, hold, signal }: ReadOptions,
  take: (pkt: Pkt) => boolean,
): Promise<'taken' | 'ended'> {
  const buffered = pktBuffer()
  let size = 0
  return new Promise((resolve, reject) => {
    const stop = () => {
      input.off('data', read).off('end', end).off('error', fail).off('close', cutOff)
      signal.removeEventListener('abort', leave)
    }
    const fail = (error: unknown) => {
      stop()
      input.once('error', () => undefined).pause()
      const rest = buffered.rest()
      if (rest.length > 0 && input.readable) input.unshift(rest)
      reject(isInflateError(error) ? new GitError('malformed_request', 'The body is not gzip') : error)
    }
    const leave = () => fail(signal.reason)
    const cutOff = () => fail(new GitError('malformed_request', 'The request is cut off'))
    const read = (chunk: Buffer) => {
      size += chunk.length
      buffered.add(chunk)
      try {
        hold(chunk.length)
        for (let pkt = buffered.next(); pkt !== undefined; pkt = buffered.next()) {
          if (!take(pkt)) continue
          stop()
          input.pause()
          const rest = buffered.rest()
          if (rest.length > 0) input.unshift(rest)
          resolve('taken')
          return
        }
        if (size > limitBytes) throw new GitError('limit_exceeded', `More than ${limitBytes} bytes`)
      } catch (error) {
        fail(error)
      }
    }
    const end = () => {
      if (buffered.rest().length > 0) return cutOff()
      stop()
      resolve('ended')
    }
    input.on('data', read).once('end', end).once('error', fail).once('close', cutOff)
    signal.addEventListener('abort', leave, { once: true })
    if (signal.aborted) leave()
  })
}

function isInflateError(error: unknown): boolean {
  return /^Z_/.test(String(codeOf(error)))
}
