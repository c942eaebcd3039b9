/** Runs middleware in order, without the path matching of a router. */

import type { NextFunction, Request, RequestHandler, Response } from 'express'

/** Chains middleware. An error that a step throws or rejects with ends the chain, as in Express. */
export function chain(steps: readonly RequestHandler[]): RequestHandler {
  return (req, res, done) => runFrom(steps, 0, req, res, done)
}

function runFrom(steps: readonly RequestHandler[], at: number, req: Request, res: Response, done: NextFunction): void {
  const step = steps[at]
  if (step === undefined) {
    done()
    return
  }
  const next = (error?: unknown) => (error ? done(error) : runFrom(steps, at + 1, req, res, done))
  try {
    const result: unknown = step(req, res, next)
    if (result instanceof Promise) result.catch(done)
  } catch (error) {
    done(error)
  }
}
