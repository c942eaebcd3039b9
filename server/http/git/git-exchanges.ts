/** Requests of git that are under way: what ends them, their client or the service. */

import type { Request, Response } from 'express'
import { Refusal } from '../../base/errors.ts'
import { watchClient } from '../connection/client-clock.ts'

/**
 * Milliseconds for a clone or a push to end by itself when the service stops. Then its client gets an error; a second later
 * service.ts closes the connections.
 */
const graceMs = 7_000

interface Exchange {
  /** Aborted where the client has gone or is too slow, or where the service stops before git has started. */
  readonly gone: AbortSignal
  /** Aborted where the service cannot wait any longer. */
  readonly stopping: AbortSignal
  /** From now on the service waits for it. */
  admit(): void
  end(): void
}

interface Controls {
  readonly gone: AbortController
  readonly stopping: AbortController
  admitted: boolean
}

export function exchangesUntil(draining: AbortSignal): { begin(req: Request, res: Response): Exchange } {
  const all = new Set<Controls>()
  const drain = () => {
    for (const { admitted, gone } of all) if (!admitted) gone.abort(stops())
    setTimeout(() => {
      for (const { stopping } of all) stopping.abort()
    }, graceMs).unref()
  }
  draining.addEventListener('abort', drain, { once: true })
  return {
    begin: (req, res) => {
      if (draining.aborted) throw stops()
      const controls: Controls = { gone: new AbortController(), stopping: new AbortController(), admitted: false }
      const { gone, stopping } = controls
      all.add(controls)
      res.once('close', () => gone.abort(new Error('The client has gone')))
      // Most clients read an answer only once they have sent everything.
      res.once('finish', () => req.unpipe().resume())
      watchClient(req, res, () => {
        // What the client has not read would stay in the system's memory for minutes.
        if (res.headersSent) res.socket?.resetAndDestroy()
        gone.abort(tooSlow())
      })
      return {
        gone: gone.signal,
        stopping: stopping.signal,
        admit: () => {
          controls.admitted = true
        },
        end: () => all.delete(controls),
      }
    },
  }
}

function stops(): Refusal {
  return new Refusal('draining', 'The service is stopping; try again in a moment')
}

function tooSlow(): Refusal {
  return new Refusal('request_timeout', 'Nothing came for a minute, or less than 1 KiB a second')
}
