/** Detects that a client has disconnected. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { ClientDisconnectedError } from '../../base/errors.ts'

/** The signals of responses. One page makes many calls, and a socket should not have a listener for each. */
const signals = new WeakMap<ServerResponse, AbortSignal>()

/** The reason of all signals. A stack trace would take as long as the rest of a signal, and nobody reads it. */
const reason = new ClientDisconnectedError()

/**
 * A signal that is aborted when the response has ended or the client has disconnected. A client that has only ended its
 * side looks the same. Use it only for work that is useless without the response.
 */
export function disconnectSignal(req: IncomingMessage, res: ServerResponse): AbortSignal {
  const known = signals.get(res)
  if (known !== undefined) return known
  const gone = new AbortController()
  signals.set(res, gone.signal)
  const { socket } = req
  const abort = () => gone.abort(reason)
  if (socket.readableEnded || res.closed) abort()
  socket.once('end', abort)
  res.once('close', () => {
    socket.off('end', abort)
    abort()
  })
  return gone.signal
}
