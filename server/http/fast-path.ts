/**
 * Shortcuts that save CPU time of every request. A service without them gives the same answers, and the rest of the code
 * reads as if there were none. test/bench/fast-path.ts measures each beside its plain form.
 */

import { IncomingMessage, ServerResponse } from 'node:http'
import type { Express, RequestHandler } from 'express'
import type { Logger } from 'pino'

/**
 * Classes of requests and responses that have the prototypes of `app` from the start. Express sets the prototypes of each,
 * which then changes nothing. A changed prototype takes an object its hidden class, and all that it holds outlives the young
 * generation. Source: https://github.com/expressjs/express/issues/5998.
 */
export function classesOf(app: Express) {
  class Incoming extends IncomingMessage {}
  class Outgoing extends ServerResponse {}
  app.request = Object.setPrototypeOf(Incoming.prototype, app.request)
  app.response = Object.setPrototypeOf(Outgoing.prototype, app.response)
  return { IncomingMessage: Incoming, ServerResponse: Outgoing }
}

/**
 * `values` with a signal that is made when it is read, which most handlers do not. A literal with a getter would get a hidden
 * class for each object, and these outlive the young generation.
 */
export function withSignal<T extends object>(values: T, make: () => AbortSignal): T & { readonly signal: AbortSignal } {
  return Object.assign(new WithSignal(make), values)
}

class WithSignal {
  readonly #make: () => AbortSignal

  constructor(make: () => AbortSignal) {
    this.#make = make
  }

  get signal(): AbortSignal {
    return this.#make()
  }
}

/** The step of helmet, whose headers are the same for each request: they are recorded once. */
export function recorded(step: (req: never, res: never, next: () => void) => void): RequestHandler {
  const headers = new Map<string, string>()
  const recorder = { setHeader: (name: string, value: string) => headers.set(name, value), removeHeader: () => {} }
  step({} as never, recorder as never, () => {}) // helmet uses nothing else of them; service.test.ts checks the result
  return (_req, res, next) => {
    for (const [name, value] of headers) res.setHeader(name, value)
    next()
  }
}

/** The log without the search for secrets, for lines that can hold none: the search is a third of the cost of a line. */
export function unsearched(log: Logger): Logger {
  return log.child({}, { redact: [] })
}
