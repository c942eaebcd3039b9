/** Ends long requests of slow clients, for Git and for files. The time that the service needs does not count. */

import type { Request, Response } from 'express'
import { ClientDisconnectedError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'

/** Milliseconds between two checks of a connection. */
const checkIntervalMs = 15_000
/** Milliseconds in which a client that must act sends or reads `limits.slowBytes`. */
const slowMs = 60_000
/** Milliseconds for a request in total. */
const totalTimeoutMs = 3_600_000

/**
 * Calls `leave` when the client is silent, too slow, or has taken an hour. Closes the connection at the next check.
 * Runs until the body is complete and the response is read.
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
    const isSlow = turns >= slowMs && bytes < limits.slowBytes
    if (turns >= slowMs) turns = bytes = 0
    const isOver = isSlow || silent >= limits.silenceMs || total >= totalTimeoutMs
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
 * A signal for a response that is being read. It is aborted with `ClientDisconnectedError` once the response has ended,
 * or the client is gone, silent or too slow. Such a client is cut off while it reads.
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

/** True if the client must act: send more of the body, or read more. */
function isClientsTurn(req: Request, res: Response): boolean {
  const reads = !req.complete && req.readableFlowing === true
  return reads || res.writableLength > 0 || (res.writableEnded && !res.writableFinished)
}
