/** The way of a request, from the door to the handler. */

import compression from 'compression'
import cors from 'cors'
import express, { type Express, type Response } from 'express'
import helmet from 'helmet'
import { DatabaseFault } from '../index/database.ts'
import type { Deps } from './deps.ts'
import { Refusal } from './errors.ts'
import { answerErrors, findOperation } from './http/answers.ts'
import { authenticate } from './http/authentication.ts'
import { readBody } from './http/bodies.ts'
import { docsFiles } from './http/docs.ts'
import { type Handlers, operationHandler } from './http/operations.ts'
import { isPacked } from './http/packed.ts'
import { pathParameters } from './http/path-parameters.ts'
import { limitRequests, limitSignIns } from './http/rate-limits.ts'
import { requestLog } from './http/requests.ts'
import { validate } from './http/validation.ts'
import { accountRoutes } from './routes/accounts.ts'
import { branchRoutes } from './routes/branches.ts'
import { contentRoutes } from './routes/contents.ts'
import { graphRoutes } from './routes/graph.ts'
import { nodeRoutes } from './routes/nodes.ts'
import { operationRoutes } from './routes/operation.ts'
import { orgRoutes } from './routes/orgs.ts'
import { pullRoutes } from './routes/pulls.ts'
import { searchRoutes } from './routes/search.ts'

const handlers: Handlers = {
  ...accountRoutes,
  ...orgRoutes,
  ...nodeRoutes,
  ...branchRoutes,
  ...contentRoutes,
  ...pullRoutes,
  ...graphRoutes,
  ...searchRoutes,
  ...operationRoutes,
}

const exposed = ['ETag', 'Link', 'Location', 'RateLimit', 'RateLimit-Policy', 'Retry-After', 'X-Request-Id']

export interface AppOptions {
  /** 500 for an answer that breaks the spec: for tests. */
  readonly validateResponses: boolean
  /** Rates are counted by the first process for all of its workers. */
  readonly sharedLimits: boolean
}

export function createApp(deps: Deps, { validateResponses, sharedLimits }: AppOptions): Express {
  const app = express()
  app.disable('x-powered-by')
  app.set('query parser', 'simple')
  app.enable('case sensitive routing')
  app.use(requestLog(deps.log))
  app.use((_req, res, next) => {
    if (deps.draining.aborted) res.set('Connection', 'close')
    next()
  })
  app.use(
    helmet({
      contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
      crossOriginResourcePolicy: { policy: 'cross-origin' },
    }),
  )
  // No cookies are ever read, so any site may ask on behalf of who gives it a token.
  app.use(cors({ origin: '*', exposedHeaders: exposed, maxAge: 600, preflightContinue: true }))
  app.use(compression({ threshold: 64 * 1024, filter: (_req, res: Response) => isJson(res) && !isPacked(res) }))
  app.use(docsFiles())
  app.use(pathParameters)
  app.use(findOperation)
  app.use(authenticate(deps))
  app.use(limitRequests(deps, sharedLimits))
  app.use(readBody)
  app.use(validate({ answersToo: validateResponses }))
  app.use(limitSignIns(deps, sharedLimits))
  app.use(operationHandler(deps, handlers))
  app.use(answerErrors(deps, databaseRefusal))
  return app
}

function isJson(res: Response): boolean {
  return /json/.test(String(res.getHeader('Content-Type')))
}

/** What the database's faults mean; `http/` may not know the database. */
function databaseRefusal(error: unknown): unknown {
  if (!(error instanceof DatabaseFault)) return error
  return new Refusal(error.code === 'damaged' ? 'storage_error' : error.code, error.message)
}
