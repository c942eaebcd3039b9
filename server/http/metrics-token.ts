/** Requires METRICS_TOKEN to read metrics. No account is involved. */

import { createHash, timingSafeEqual } from 'node:crypto'
import type { RequestHandler } from 'express'
import type { Config } from '../base/config.ts'
import { AppError } from '../base/errors.ts'
import { invalidTokenError } from '../domain/access.ts'
import { bearerToken } from './authentication.ts'
import { contextOf } from './context.ts'

/** Checks the token, once the operation is known. 404 if metrics are not served, 401 without the token. */
export function requireMetricsToken({ metricsToken }: Config): RequestHandler {
  const wanted = metricsToken === undefined ? undefined : digestOf(metricsToken)
  return (req, _res, next) => {
    if (contextOf(req).operation.security === 'metrics') {
      if (wanted === undefined) throw new AppError('not_found', 'Metrics are not served here')
      if (req.headers.authorization === undefined)
        throw new AppError('unauthenticated', 'Send METRICS_TOKEN as `Authorization: Bearer <token>`')
      if (!timingSafeEqual(digestOf(bearerToken(req) ?? ''), wanted)) throw invalidTokenError()
    }
    next()
  }
}

/** A digest of the token. All digests have one length, so that a comparison takes the same time for every token. */
function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
