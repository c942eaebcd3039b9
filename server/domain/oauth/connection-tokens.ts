/** Checks access tokens of connections, which `features/oauth` issues. */

import { findActiveProfile } from '../../../index/credentials/accounts.ts'
import { findGrantOfToken, setGrantUsed } from '../../../index/credentials/oauth.ts'
import { AppError } from '../../base/errors.ts'
import type { Credential } from '../accounts/access-tokens.ts'
import { recordLastUse } from '../accounts/last-used.ts'
import { requireFresh } from '../accounts/oidc/freshness.ts'
import { hashOf } from '../accounts/tokens.ts'
import { personOf } from '../accounts/user-view.ts'
import type { Services } from '../services.ts'
import type { Resource } from './scopes.ts'

const accessForm = /^grv_oauth_[\w-]{43}$/

export function isConnectionToken(text: string): boolean {
  return accessForm.test(text)
}

/** Why a token is refused at a resource. */
const otherResource: Readonly<Record<Resource, string>> = {
  api: 'This token is for /mcp. For the REST API and Git, the program asks with the URL of the service as `resource`',
  mcp: 'This token is for the REST API and Git. For /mcp, the program asks with its URL as `resource`',
}

/**
 * Returns the user and the scope of an access token. Undefined: it is unknown or expired, or the operator has turned
 * connections off. Reads the database each time, two rows by key, so that the end of a connection
 * takes effect at once.
 *
 * @throws AppError invalid_token: it is for another resource
 * @throws AppError sign_in_required: the user must pass a provider again
 */
export async function authenticateConnection(
  deps: Services,
  token: string,
  resource: Resource,
): Promise<Credential | undefined> {
  if (deps.config.oauth === false) return undefined
  const grant = await findGrantOfToken(deps.credentials.read, hashOf(token))
  if (grant?.kind !== 'access') return undefined
  const expiresAt = Date.parse(grant.expires_at)
  if (expiresAt <= deps.now().getTime()) return undefined
  if (grant.resource !== resource) throw new AppError('invalid_token', otherResource[resource])
  const profile = await findActiveProfile(deps.credentials.read, grant.account_id)
  if (profile === undefined) return undefined
  await requireFresh(deps, profile)
  const { id, access, org_id, node_id, last_used_at: usedAt } = grant
  recordLastUse(deps, profile, { id, usedAt, write: setGrantUsed })
  const connection = { id, clientId: grant.client_id, clientName: grant.client_name }
  const person = { ...personOf(profile), connection, access, ...(node_id === null ? {} : { onlyNode: node_id }) }
  const bounds = { ...(org_id === null ? {} : { orgId: org_id }), ...(node_id === null ? {} : { nodeId: node_id }) }
  return { person, scope: { access, ...bounds }, expiresAt }
}
