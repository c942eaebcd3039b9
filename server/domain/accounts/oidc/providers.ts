/**
 * The providers through which users sign in. Discovery is lazy, so that no start waits for a provider.
 *
 * The document of a provider is kept for an hour. If the provider does not answer then, it is used for a day.
 */

import type { Configuration, ServerMetadata } from 'openid-client'
import { AppError } from '../../../base/errors.ts'
import type { Services } from '../../services.ts'
import { providerFetch } from './provider-fetch.ts'

export type Provider = NonNullable<Services['config']['oidc']>[number]

type ProviderDeps = Pick<Services, 'config' | 'now' | 'log'>

const minuteMs = 60_000
/** Milliseconds for which a document is kept. `longest`: while the provider does not answer. */
const keptMs = { usual: 60 * minuteMs, longest: 24 * 60 * minuteMs } as const
/** Milliseconds between tries, for all callers of this process. */
const pauseMs = 10_000

interface Discovery {
  metadata: ServerMetadata | undefined
  foundAtMs: number
  triedAtMs: number
  /** True if the last try failed. */
  isAway: boolean
  trying: Promise<void> | undefined
}

/** The state of the providers of each open service, by id. */
const discoveries = new WeakMap<Services['config'], Map<string, Discovery>>()

export function listProviders({ config }: Pick<Services, 'config'>): readonly Provider[] {
  return config.oidc ?? []
}

export function findProvider(deps: Pick<Services, 'config'>, id: string): Provider | undefined {
  return listProviders(deps).find((provider) => provider.id === id)
}

/** @throws AppError not_found */
export function requireProvider(deps: Pick<Services, 'config'>, id: string): Provider {
  const provider = findProvider(deps, id)
  if (provider === undefined) throw new AppError('not_found', 'There is no sign-in service with this name')
  return provider
}

/**
 * Returns a client of the provider. It has no keys yet, so it fetches the current ones: a provider may have replaced
 * them at any time.
 *
 * @throws AppError provider_unavailable
 */
export async function connectTo(deps: ProviderDeps, provider: Provider): Promise<Configuration> {
  return clientOf(provider, await metadataOf(deps, provider))
}

async function clientOf(provider: Provider, metadata: ServerMetadata): Promise<Configuration> {
  const client = await import('openid-client')
  const configuration = new client.Configuration(metadata, provider.clientId, {}, await clientAuth(provider, metadata))
  configuration[client.customFetch] = providerFetch(provider.issuer)
  if (provider.issuer.startsWith('http:')) client.allowInsecureRequests(configuration)
  client.enableNonRepudiationChecks(configuration)
  return configuration
}

/** Basic is the method that a provider must have. Some have only the other one. */
async function clientAuth({ clientSecret }: Provider, metadata: ServerMetadata) {
  const client = await import('openid-client')
  if (clientSecret === undefined) return client.None()
  const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  return methods.includes('client_secret_basic') || !methods.includes('client_secret_post')
    ? client.ClientSecretBasic(clientSecret)
    : client.ClientSecretPost(clientSecret)
}

/** @throws AppError provider_unavailable */
export async function metadataOf(deps: ProviderDeps, provider: Provider): Promise<ServerMetadata> {
  const discovery = discoveryOf(deps, provider)
  const age = () => deps.now().getTime() - discovery.foundAtMs
  if (discovery.metadata === undefined || age() >= keptMs.usual) await tryOnce(deps, provider, discovery)
  if (discovery.metadata !== undefined && age() < keptMs.longest) return discovery.metadata
  throw unavailableError(provider)
}

export function unavailableError({ name }: Provider, cause?: unknown): AppError {
  const detail = `${name} does not answer. Try again in a minute; if you are signed in, you stay signed in`
  return new AppError('provider_unavailable', detail, {}, { cause })
}

/**
 * True if the provider does not answer at present. Sessions that must pass it again then have some grace. Waits at most
 * 5 seconds, and only if the last try succeeded.
 */
export async function isAway(deps: ProviderDeps, provider: Provider): Promise<boolean> {
  const discovery = discoveryOf(deps, provider)
  const tried = tryOnce(deps, provider, discovery)
  if (!discovery.isAway) await tried
  return discovery.isAway
}

function discoveryOf({ config }: ProviderDeps, { id }: Provider): Discovery {
  const all = discoveries.get(config) ?? new Map<string, Discovery>()
  discoveries.set(config, all)
  const never = Number.NEGATIVE_INFINITY
  const known = all.get(id) ?? {
    ...{ metadata: undefined, foundAtMs: never, triedAtMs: never, isAway: false, trying: undefined },
  }
  all.set(id, known)
  return known
}

/** Tries the discovery, unless somebody has done so within the last seconds. Never rejects. */
async function tryOnce(deps: ProviderDeps, provider: Provider, discovery: Discovery): Promise<void> {
  const now = deps.now().getTime()
  if (discovery.trying === undefined && Math.abs(now - discovery.triedAtMs) >= pauseMs) {
    discovery.triedAtMs = now
    discovery.trying = discover(provider)
      .then(
        (metadata) => {
          Object.assign(discovery, { metadata, foundAtMs: now, isAway: false })
        },
        (error: unknown) => {
          discovery.isAway = true
          deps.log.warn({ err: error, provider: provider.id }, 'a sign-in service could not be discovered')
        },
      )
      .finally(() => {
        discovery.trying = undefined
      })
  }
  await discovery.trying
}

/** Returns the URL to which a provider sends users back. @param base the URL of the service */
export function callbackOf(base: string, id: string): string {
  return `${base}/sign-in/oidc/${id}/callback`
}

/** True if the token endpoint refuses the client itself (RFC 6749, section 5.2). */
export function isClientRefusal(error: unknown): boolean {
  // Errors of the library have both.
  const { error: named, status } = error as { readonly error?: unknown; readonly status?: unknown }
  return error instanceof Error && (named === 'invalid_client' || named === 'unauthorized_client' || status === 401)
}

/**
 * Tries the client id and the secret with a code that no provider has given. A provider that accepts them refuses the
 * code. Returns false if they are refused.
 */
export async function acceptsClient(
  provider: Provider,
  metadata: ServerMetadata,
  redirectUri: string,
): Promise<boolean> {
  const client = await import('openid-client')
  const code = { code: client.randomState(), redirect_uri: redirectUri, code_verifier: client.randomPKCECodeVerifier() }
  try {
    await client.genericGrantRequest(await clientOf(provider, metadata), 'authorization_code', code)
    return true
  } catch (error) {
    return !isClientRefusal(error)
  }
}

/** Fetches the discovery document. @throws Error it names another issuer, or the provider does not answer */
export async function discover({ issuer, clientId }: Provider): Promise<ServerMetadata> {
  const client = await import('openid-client')
  const found = await client.discovery(new URL(issuer), clientId, {}, client.None(), {
    [client.customFetch]: providerFetch(issuer),
    ...(issuer.startsWith('http:') ? { execute: [client.allowInsecureRequests] } : {}),
  })
  return { ...found.serverMetadata() }
}
