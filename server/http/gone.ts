/** Whether a client still waits. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { ClientGone } from '../errors.ts'

/**
 * Aborted when the answer has ended or its client has gone. One that has only ended its side of the connection looks the
 * same, so it is for work that nobody wants to see finished without its reader.
 */
export function goneSignal(req: IncomingMessage, res: ServerResponse): AbortSignal {
  const gone = new AbortController()
  const { socket } = req
  const abort = () => gone.abort(new ClientGone())
  if (socket.readableEnded || res.closed) abort()
  socket.once('end', abort)
  res.once('close', () => {
    socket.off('end', abort)
    abort()
  })
  return gone.signal
}
