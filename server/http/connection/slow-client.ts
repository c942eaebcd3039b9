/** Ends long requests with a slow client, those of git and those of files. The service's own time does not count. */

import type { Request, Response } from 'express'
import { ClientDisconnectedError } from '../../base/errors.ts'

/** Milliseconds between two checks of a connection. */
const checkIntervalMs = 15_000
/** Limits while the client has to send or to read: no byte in this time, or fewer than so many bytes in so much time. */
const silenceTimeoutMs = 60_000
const slowMs = 60_000
const slowBytes = 60 * 1024
/** In total. */
const totalTimeoutMs = 3_600_000

/**
 * Calls `leave` when the client is silent, too slow, or has taken an hour, and closes the connection at the next check. Runs
 * until the body is complete and the response is read.
 */
export function enforceClientTimeouts(req: Request, res: Response, leave: () => void): void {
  const { socket } = req
  const moved = () => socket.bytesRead + socket.bytesWritten - socket.writableLength
  let [total, silent, turns, bytes, before] = [0, 0, 0, 0, moved()]
  let left = false
  const look = () => {
    if (socket.destroyed || (res.closed && req.complete)) return
    const progress = moved() - before
    before += progress
    bytes += progress
    total += checkIntervalMs
    const isTheirs = isClientsTurn(req, res)
    silent = isTheirs && progress === 0 ? silent + checkIntervalMs : 0
    if (isTheirs) turns += checkIntervalMs
    const isSlow = turns >= slowMs && bytes < slowBytes
    if (turns >= slowMs) turns = bytes = 0
    const isOver = isSlow || silent >= silenceTimeoutMs || total >= totalTimeoutMs
    if (left || (isOver && res.closed)) {
      socket.destroy()
      return
    }
    left = isOver
    if (isOver) leave()
    arm()
  }
  const arm = () => setTimeout(look, checkIntervalMs).unref()
  arm()
}

/**
 * Aborted with `ClientDisconnectedError` once the response has ended, or the client is gone, silent or too slow: such a client is cut off in
 * the middle of what it reads.
 */
export function readingSignal(req: Request, res: Response): AbortSignal {
  const gone = new AbortController()
  res.once('close', () => gone.abort(new ClientDisconnectedError()))
  enforceClientTimeouts(req, res, () => {
    if (res.headersSent) res.socket?.resetAndDestroy()
    gone.abort(new ClientDisconnectedError())
  })
  return gone.signal
}

/** Whether the client has to act: to send more of the body, or to read more of the response. */
function isClientsTurn(req: Request, res: Response): boolean {
  const reads = !req.complete && req.readableFlowing === true
  return reads || res.writableLength > 0 || (res.writableEnded && !res.writableFinished)
}
