/** What a client may send to git before git itself can count it. */

import { Transform, type TransformCallback } from 'node:stream'
import { GitError } from './errors.ts'
import { pktAt } from './pkt-line.ts'

/** Hands bytes on, `most` at most; then it fails with limit_exceeded. */
export function boundedBytes(most: number): Transform {
  let seen = 0
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      seen += chunk.length
      if (seen > most) done(tooLong(most))
      else done(null, chunk)
    },
  })
}

/** Hands a push on whose list of refs, which ends with the first flush, has `most` bytes at most. */
export function boundedCommands(most: number): Transform {
  let head = Buffer.alloc(0)
  let at = 0
  const pass = (chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback) => done(null, chunk)
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      head = Buffer.concat([head, chunk])
      try {
        for (let found = pktAt(head, at); found !== undefined; found = pktAt(head, at)) {
          at = found.next
          if (found.pkt !== 'flush') continue
          this._transform = pass
          head = Buffer.alloc(0)
          return done(null, chunk)
        }
      } catch (error) {
        return done(error instanceof Error ? error : null)
      }
      if (head.length > most) done(tooLong(most))
      else done(null, chunk)
    },
  })
}

function tooLong(most: number): GitError {
  return new GitError('limit_exceeded', `More than ${most} bytes`)
}
