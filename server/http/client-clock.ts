/** Ends requests of git whose client keeps the service waiting. Time that the service takes for itself is not counted. */

import type { Request, Response } from 'express'

/** Milliseconds between two looks at a connection. */
const lookMs = 15_000
/** Of a client whose turn it is, to send or to read: no byte in this time, or fewer than these in this time of its turns. */
const silenceMs = 60_000
const slowMs = 60_000
const slowBytes = 60 * 1024
/** In all, whoever's turn it is. */
const longestMs = 3_600_000

/**
 * Calls `leave` once the client is silent, too slow, or has taken an hour, and closes the connection at the next look. Looks
 * until the answer has been read and the body has come whole.
 */
export function watchClient(req: Request, res: Response, leave: () => void): void {
  const { socket } = req
  const moved = () => socket.bytesRead + socket.bytesWritten - socket.writableLength
  let [total, silent, turns, bytes, before] = [0, 0, 0, 0, moved()]
  let left = false
  const look = () => {
    if (socket.destroyed || (res.closed && req.complete)) return
    const progress = moved() - before
    before += progress
    bytes += progress
    total += lookMs
    const isTheirs = isClientsTurn(req, res)
    silent = isTheirs && progress === 0 ? silent + lookMs : 0
    if (isTheirs) turns += lookMs
    const isSlow = turns >= slowMs && bytes < slowBytes
    if (turns >= slowMs) turns = bytes = 0
    const isOver = isSlow || silent >= silenceMs || total >= longestMs
    if (left || (isOver && res.closed)) {
      socket.destroy()
      return
    }
    left = isOver
    if (isOver) leave()
    arm()
  }
  const arm = () => setTimeout(look, lookMs).unref()
  arm()
}

/** Whether bytes of the body are waited for, or bytes of the answer wait to be read. */
function isClientsTurn(req: Request, res: Response): boolean {
  const reads = !req.complete && req.readableFlowing === true
  return reads || res.writableLength > 0 || (res.writableEnded && !res.writableFinished)
}
