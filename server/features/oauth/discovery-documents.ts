/** Documents by which programs find the authorization server. Sources: RFC 9728 and RFC 8414. */

import { AppError } from '../../base/errors.ts'
import { idTokenMembers } from '../../domain/accounts/tokens.ts'
import { issuerOf } from '../../domain/oauth/issuer.ts'
import { allScopes, type Resource, resourceUrl, usualScopes } from '../../domain/oauth/scopes.ts'
import type { RequestCtx, Services } from '../../domain/services.ts'
import { assertionAlgorithms } from './client-assertions.ts'

/** `none` comes first: some programs use their documents only if it is listed. */
const authMethods = ['none', 'private_key_jwt'] as const

/** @throws AppError not_found: connections are off */
function requireIssuer(deps: Services, base: string): string {
  const issuer = issuerOf(deps, base)
  if (issuer === undefined) throw new AppError('not_found', 'Connections by OAuth are off')
  return issuer
}

/** Returns the document of a resource. @throws AppError not_found */
export function readProtectedResource(ctx: RequestCtx, resource: Resource) {
  const issuer = requireIssuer(ctx, ctx.request.base)
  return {
    resource: resourceUrl(issuer, resource),
    authorization_servers: [issuer],
    scopes_supported: [...usualScopes],
    bearer_methods_supported: ['header'],
    resource_name: 'Grove',
    resource_documentation: `${issuer}/docs`,
  }
}

/** Returns the document of the authorization server. @throws AppError not_found */
export function getAuthorizationServer(ctx: RequestCtx) {
  return serverMembers(requireIssuer(ctx, ctx.request.base))
}

/**
 * Returns what verifies id tokens, and the members of the authorization server.
 *
 * @throws AppError not_found: PUBLIC_URL is neither https nor loopback, so it cannot be the issuer
 */
export function getOpenidConfiguration(ctx: RequestCtx) {
  const { publicUrl } = ctx.config
  const issuer = issuerOf(ctx, ctx.request.base)
  if (publicUrl === undefined || (issuer === undefined && !publicUrl.startsWith('https:')))
    throw new AppError('not_found', 'PUBLIC_URL is not https')
  return { ...(issuer === undefined ? {} : serverMembers(issuer)), ...idTokenMembers(publicUrl) }
}

function serverMembers(issuer: string) {
  return {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    registration_endpoint: `${issuer}/oauth/register`,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: [...authMethods],
    token_endpoint_auth_signing_alg_values_supported: [...assertionAlgorithms],
    revocation_endpoint_auth_methods_supported: [...authMethods],
    revocation_endpoint_auth_signing_alg_values_supported: [...assertionAlgorithms],
    scopes_supported: [...allScopes],
    client_id_metadata_document_supported: true,
    authorization_response_iss_parameter_supported: true,
    service_documentation: `${issuer}/docs`,
  }
}
