/** The programs that users connect. */

import type { OauthGrant } from '../../../index/credentials/schema.ts'
import { defaultRedirects, mayRegister } from '../../base/redirects.ts'
import type { Person } from '../../domain/actor.ts'
import type { Ctx, Services } from '../../domain/services.ts'
import { isDocumentUrl } from './documents.ts'
import { OAuthError, UnknownProgramError } from './errors.ts'
import { readMetadata } from './metadata-documents.ts'
import { hasGrantOfClient } from './rows/connections.ts'
import {
  isRedirectList,
  plainName,
  readSelfDescribed,
  type SelfDescribed,
  selfDescribedId,
} from './self-described-clients.ts'

/** A program, as its metadata describes it. */
export interface Client {
  readonly id: string
  /** `document`: a host vouches for it. `dynamic`: nobody does. */
  readonly kind: 'document' | 'dynamic'
  readonly name: string
  /** The host that vouches for it. */
  readonly host?: string
  readonly redirectUris: readonly string[]
  /** How it authenticates at the token endpoint, at least. */
  readonly method: OauthGrant['method']
}

type OAuthConfig = Pick<Services['config'], 'oauthRedirects' | 'oauthClients'>

/**
 * Finds the program for a user who is signed in. Anonymous callers must not make the service fetch metadata.
 *
 * @param countFetch counts a fetch of the user, and refuses too many
 * @throws UnknownProgramError; errors of `countFetch`
 */
export async function findClient(ctx: Ctx<Person>, clientId: string, countFetch: () => Promise<void>): Promise<Client> {
  const { config } = ctx
  if (clientId.startsWith('https:')) {
    requireDocumentUrl(config, clientId)
    return { id: clientId, kind: 'document', ...(await readMetadata(ctx, clientId, countFetch)) }
  }
  const client = judgeDynamicClient(config, clientId)
  if (client === undefined)
    throw new UnknownProgramError('This service does not know the program, or its operator does not allow it')
  return client
}

/**
 * Checks the client of a request for tokens, which has no user. Its document is not fetched, so a user must have
 * connected it.
 *
 * @throws OAuthError invalid_client: programs then register again
 */
export async function requireTokenClient(
  { config, credentials }: Pick<Services, 'config' | 'credentials'>,
  clientId: string,
): Promise<void> {
  const isKnown = clientId.startsWith('https:')
    ? isDocumentUrl(clientId) &&
      allowsHost(config, new URL(clientId).hostname) &&
      (await hasGrantOfClient(credentials.read, clientId))
    : judgeDynamicClient(config, clientId) !== undefined
  if (!isKnown) throw new OAuthError('invalid_client', 'The client is not known; register it again')
}

/** Judges a client that described itself by what the operator allows now. Undefined: it is not allowed. */
function judgeDynamicClient(config: OAuthConfig, clientId: string): Client | undefined {
  const described = readSelfDescribed(clientId)
  if (described === undefined || !allowsDynamic(config)) return undefined
  const { oauthRedirects = defaultRedirects } = config
  if (!described.redirectUris.every((uri) => mayRegister(uri, oauthRedirects))) return undefined
  return { id: clientId, kind: 'dynamic', method: 'none', ...described }
}

/** @throws UnknownProgramError */
function requireDocumentUrl(config: OAuthConfig, clientId: string): void {
  if (!isDocumentUrl(clientId))
    throw new UnknownProgramError(
      'The client_id is not an https URL with a path, of at most 512 characters, without a port, user or fragment',
    )
  const { hostname } = new URL(clientId)
  if (!allowsHost(config, hostname))
    throw new UnknownProgramError(`The operator of this service does not allow programs of ${hostname}`)
}

function allowsHost({ oauthClients }: OAuthConfig, host: string): boolean {
  return oauthClients === undefined || oauthClients.includes(host)
}

function allowsDynamic({ oauthClients }: OAuthConfig): boolean {
  return oauthClients === undefined || oauthClients.includes('dcr')
}

/** The answer to a registration. Source: RFC 7591 §3.2.1. */
export interface Registration {
  readonly client_id: string
  readonly client_id_issued_at: number
  readonly client_name: string
  readonly redirect_uris: readonly string[]
  readonly grant_types: readonly string[]
  readonly response_types: readonly string[]
  readonly token_endpoint_auth_method: 'none'
}

/**
 * Registers a program: returns the id that describes it. Nothing is stored, and the same metadata has the same id.
 *
 * @throws OAuthError invalid_client_metadata, invalid_redirect_uri
 */
export function registerClient({ config, now }: Pick<Services, 'config' | 'now'>, metadata: unknown): Registration {
  if (!allowsDynamic(config))
    throw new OAuthError('invalid_client_metadata', 'The operator of this service does not allow programs to register')
  const described = describedBy(metadata)
  const { oauthRedirects = defaultRedirects } = config
  const wrong = described.redirectUris.find((uri) => !mayRegister(uri, oauthRedirects))
  if (wrong !== undefined)
    throw new OAuthError(
      'invalid_redirect_uri',
      'A redirect URI must be loopback over http, or one that the operator allows in OAUTH_REDIRECTS',
    )
  return {
    client_id: selfDescribedId(described),
    client_id_issued_at: Math.floor(now().getTime() / 1000),
    client_name: described.name,
    redirect_uris: described.redirectUris,
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  }
}

/** @throws OAuthError invalid_client_metadata, invalid_redirect_uri */
function describedBy(metadata: unknown): SelfDescribed {
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata))
    throw new OAuthError('invalid_client_metadata', 'The body must be a JSON object')
  const { client_name: name = null, redirect_uris: uris }: Readonly<Record<string, unknown>> = { ...metadata }
  if (name !== null && typeof name !== 'string')
    throw new OAuthError('invalid_client_metadata', 'client_name must be a string')
  if (!isRedirectList(uris))
    throw new OAuthError('invalid_redirect_uri', 'redirect_uris must have 1 to 10 URIs, each a string')
  return { name: plainName(name ?? ''), redirectUris: uris }
}
