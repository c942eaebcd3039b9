/** Operations about the service itself, for operators and new clients. */

import { AppError } from '../base/errors.ts'
import { readJwks } from '../domain/accounts/tokens.ts'
import {
  readAuthorizationServer,
  readOpenidConfiguration,
  readProtectedResource,
} from '../domain/oauth/discovery-documents.ts'
import { requireReady } from '../domain/operator/health.ts'
import type { HandlersOf } from '../http/contract/operations.ts'
import { spec } from '../http/contract/spec.ts'
import { docsPage, docsPolicy } from '../http/responses/docs.ts'
import { bytes, withHeaders } from '../http/responses/responses.ts'
import { textFormat } from '../metrics/scrape.ts'

/**
 * Seconds for which clients may cache the keys. It is half of the time between the announcement of a new key and its
 * first signature.
 */
const jwksSeconds = 300

const discovery = { 'Cache-Control': 'public, max-age=300' }

/** The spec with the URL under which clients reach this service. */
function specAt(publicUrl: string | undefined): typeof spec {
  return publicUrl === undefined ? spec : { ...spec, servers: [{ url: publicUrl, description: 'This service.' }] }
}

export const operationRoutes: HandlersOf<
  | 'getHealth'
  | 'getReadiness'
  | 'getMetrics'
  | 'getSpec'
  | 'getDocs'
  | 'getJwks'
  | 'getOpenidConfiguration'
  | 'getProtectedResource'
  | 'getMcpResource'
  | 'getAuthorizationServer'
> = {
  getHealth: ({ maintenance }) => ({ status: 'ok', ...(maintenance.current() && { maintenance: true }) }),
  getReadiness: async (deps) => {
    const status = await requireReady(deps)
    return { status }
  },
  getMetrics: async ({ scrape }) => {
    if (scrape === undefined) throw new AppError('not_found', 'Only a running service has metrics')
    return bytes(Buffer.from(await scrape()), textFormat)
  },
  getSpec: ({ config }) => specAt(config.publicUrl),
  getJwks: async (deps) => withHeaders(await readJwks(deps), { 'Cache-Control': `public, max-age=${jwksSeconds}` }),
  getOpenidConfiguration: (deps, _actor, { base }) => readOpenidConfiguration(deps, base),
  getProtectedResource: (deps, _actor, { base }) => withHeaders(readProtectedResource(deps, base, 'api'), discovery),
  getMcpResource: (deps, _actor, { base }) => withHeaders(readProtectedResource(deps, base, 'mcp'), discovery),
  getAuthorizationServer: (deps, _actor, { base }) => withHeaders(readAuthorizationServer(deps, base), discovery),
  getDocs: () => bytes(Buffer.from(docsPage), 'text/html; charset=utf-8', { 'Content-Security-Policy': docsPolicy }),
}
