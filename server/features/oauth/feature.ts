/** The authorization server for programs that act for users, and their connections. */

import type { Handlers } from '../../http/contract/operations.ts'
import { withHeaders } from '../../http/responses/responses.ts'
import type { Feature } from '../feature.ts'
import { endMyConnection, forgetDeadConnections, listMyConnections } from './connections.ts'
import { getAuthorizationServer, getOpenidConfiguration, readProtectedResource } from './discovery-documents.ts'
import { consentsFor } from './http/consents.ts'
import { oauthEndpoints } from './http/oauth-door.ts'
import { connectionsPage } from './pages/connections.tsx'
import { showConsent, takeConsent } from './pages/consent.tsx'

const discovery = { 'Cache-Control': 'public, max-age=300' }

const operations = {
  listMyConnections,
  endMyConnection,
  getOpenidConfiguration,
  getProtectedResource: (ctx) => withHeaders(readProtectedResource(ctx, 'api'), discovery),
  getMcpResource: (ctx) => withHeaders(readProtectedResource(ctx, 'mcp'), discovery),
  getAuthorizationServer: (ctx) => withHeaders(getAuthorizationServer(ctx), discovery),
} satisfies Partial<Handlers>

export const oauth = {
  operations,
  endpoints: oauthEndpoints,
  consents: consentsFor,
  pages: [
    { at: '/me/connections', ...connectionsPage },
    { at: '/oauth/authorize', show: showConsent, take: takeConsent, formBytes: 16_384 },
  ],
  jobs: () => [
    {
      chore: 'connections',
      everyMs: 10 * 60_000,
      work: forgetDeadConnections,
      failed: 'connections that no program can use could not be removed',
    },
  ],
} satisfies Feature
