/** The Express application: all middleware in order, from the connection to the handler. */

import express, { type Express, type RequestHandler } from 'express'
import type { NewCounter } from '../base/counters.ts'
import type { PushUrls } from '../domain/consent/wording.ts'
import { cloneUrl } from '../domain/layout.ts'
import type { Services } from '../domain/services.ts'
import type { RepositoryAt } from '../domain/targets.ts'
import { authenticate, authenticateAgain, createCredentialFinder, limitTokens } from '../http/authentication.ts'
import { browserCookies } from '../http/browser-cookies.ts'
import { publicPathOf } from '../http/connection/base-url.ts'
import { requireHttp } from '../http/connection/request-line.ts'
import { readBody } from '../http/contract/bodies.ts'
import { answerErrors, findOperation } from '../http/contract/error-responses.ts'
import { requireExact } from '../http/contract/exact-json.ts'
import { type Handlers, operationHandler } from '../http/contract/operations.ts'
import { pathParameters } from '../http/contract/path-parameters.ts'
import { validate } from '../http/contract/validation.ts'
import { gitOverHttp } from '../http/git/git.ts'
import { requestLog } from '../http/log/requests.ts'
import { requireLoopbackHost } from '../http/loopback-host.ts'
import { refuseChangesInMaintenance } from '../http/maintenance.ts'
import { requireMetricsToken } from '../http/metrics-token.ts'
import { chain } from '../http/middleware-chain.ts'
import { backchannelLogout } from '../http/oidc/backchannel.ts'
import {
  countRefused,
  limitOptions,
  limitRequests,
  limitSignUps,
  limitTalk,
  requestCounter,
} from '../http/rate-limits.ts'
import { docsFiles } from '../http/responses/docs.ts'
import { documentPages } from '../http/responses/documents.ts'
import { compressed, crossOrigin, securityHeaders } from '../http/responses/headers.ts'
import { mcpOverHttp } from '../mcp/http.ts'
import { cookieToBearer } from '../pages/cookie-auth.ts'
import type { DemoNotice } from '../pages/page-context.ts'
import { missingPages, pages, pageTable } from '../pages/pages.ts'
import { Urls } from '../pages/urls.ts'
import { accountRoutes } from '../routes/accounts.ts'
import { adminRoutes } from '../routes/admin.ts'
import { branchRoutes } from '../routes/branches.ts'
import { changeSetRoutes } from '../routes/change-sets.ts'
import { contentRoutes } from '../routes/contents.ts'
import { eventRoutes } from '../routes/events.ts'
import { invitationRoutes } from '../routes/invitations.ts'
import { nodeRoutes } from '../routes/nodes.ts'
import { operationRoutes } from '../routes/operation.ts'
import { orgRoutes } from '../routes/orgs.ts'
import { pullRoutes } from '../routes/pulls.ts'
import { reviewRoutes } from '../routes/reviews.ts'
import { searchRoutes } from '../routes/search.ts'
import { httpPartsOf } from './cell-parts.ts'
import { consentsFor, endpoints, operations, pageRoutes } from './features.ts'

const handlers: Handlers = {
  ...accountRoutes,
  ...orgRoutes,
  ...invitationRoutes,
  ...nodeRoutes,
  ...branchRoutes,
  ...contentRoutes,
  ...changeSetRoutes,
  ...pullRoutes,
  ...reviewRoutes,
  ...eventRoutes,
  ...searchRoutes,
  ...adminRoutes,
  ...operationRoutes,
  ...operations,
}

export interface AppOptions {
  /** 500 for a response that breaks the spec; for tests. */
  readonly validateResponses: boolean
  /** Undefined: no rate limits. */
  readonly newCounter: NewCounter | undefined
  /** Creates counters that all cells share. Default: `newCounter`. */
  readonly newSharedCounter?: NewCounter | undefined
  /** Set in a demo. */
  readonly demo?: DemoNotice | undefined
}

export function createApp(
  deps: Services,
  { validateResponses, newCounter, newSharedCounter = newCounter, demo }: AppOptions,
): Express {
  const app = express()
  const countRequest = requestCounter(newCounter)
  const findCredential = createCredentialFinder(deps)
  const cookies = browserCookies(deps, findCredential)
  const cell = httpPartsOf(deps, { newCounter, count: countRequest, findCredential, cookies })
  const countSignUps = limitSignUps(newSharedCounter)
  const countTalk = limitTalk(newSharedCounter)
  const refuseChanges = refuseChangesInMaintenance(deps)
  const inProcess = {
    deps,
    handlers,
    checks: [refuseChanges, validate({ answersToo: false }), countSignUps, countTalk],
  }
  const consentsOf = consentsFor(deps, newSharedCounter)
  const shown = { ...inProcess, findCredential, cookies, countRequest, consentsOf, demo, table: pageTable(pageRoutes) }
  app.disable('x-powered-by')
  app.set('query parser', 'simple')
  app.enable('case sensitive routing')
  app.set('trust proxy', deps.config.trustProxy ?? false)
  app.set('public path', publicPathOf(deps.config.publicUrl))
  app.use(
    chain([
      requestLog(deps),
      closeWhileDraining(deps),
      securityHeaders(deps.config.publicUrl),
      requireHttp,
      ...(demo ? [requireLoopbackHost] : []),
      ...cell.steps,
      gitOverHttp(deps, { findCredential, count: countRequest, urlsOf }),
      mcpOverHttp({ ...inProcess, findCredential, countRequest }),
      ...endpoints.map((create) => create(deps, { countRequest, newSharedCounter })),
      backchannelLogout(deps, countRequest),
      cookieToBearer(cookies, deps.config.publicUrl),
      pages(shown),
      crossOrigin(),
      compressed(),
      docsFiles(),
      documentPages(),
      missingPages(shown),
      pathParameters,
      limitOptions(countRequest),
      findOperation,
      requireMetricsToken(deps.config),
      authenticate(findCredential),
      limitRequests(countRequest),
      limitTokens(deps),
      refuseChanges,
      readBody,
      authenticateAgain(findCredential),
      validate({ answersToo: validateResponses }),
      requireExact,
      countSignUps,
      countTalk,
      operationHandler(deps, handlers),
    ]),
  )
  for (const step of cell.errorSteps) app.use(step)
  app.use(countRefused(countRequest))
  app.use(answerErrors(deps))
  return app
}

function urlsOf(base: string, { org_id: orgId, name }: RepositoryAt): PushUrls {
  const urls = new Urls('', base)
  return {
    pull: (number) => urls.absolute(urls.proposal(orgId, name, number)),
    set: (number) => urls.absolute(urls.changeSet(orgId, number)),
    remote: (nodeId) => cloneUrl(base, orgId, nodeId),
  }
}

function closeWhileDraining({ draining }: Services): RequestHandler {
  return (_req, res, next) => {
    if (draining.aborted) res.set('Connection', 'close')
    next()
  }
}
