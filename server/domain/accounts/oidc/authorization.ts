/** The exchange with a provider, from the redirect to the user's claims. */

import { AppError } from '../../../base/errors.ts'
import type { Services } from '../../services.ts'
import { type Claims, needsProfile, type Passed, type Purpose, readClaims } from './mapping.ts'
import { isAwayError } from './provider-fetch.ts'
import { connectTo, isClientRefusal, type Provider, unavailableError } from './providers.ts'

/** The secrets of one exchange. The browser keeps them, so that an anonymous request costs no row. */
export interface Exchange {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

/** Seconds that may pass between the proof at the provider and the return, for `confirm`. */
const proofSeconds = 300

/**
 * Returns the URL of the provider, and the secrets of the exchange.
 *
 * @throws AppError provider_unavailable
 */
export async function startExchange(
  deps: Services,
  provider: Provider,
  { purpose, redirectUri }: { readonly purpose: Purpose; readonly redirectUri: string },
): Promise<{ readonly url: string; readonly exchange: Exchange }> {
  const configuration = await connectTo(deps, provider)
  const client = await import('openid-client')
  const exchange = {
    state: client.randomState(),
    nonce: client.randomNonce(),
    verifier: client.randomPKCECodeVerifier(),
  }
  const url = client.buildAuthorizationUrl(configuration, {
    redirect_uri: redirectUri,
    scope: provider.scopes,
    state: exchange.state,
    nonce: exchange.nonce,
    code_challenge: await client.calculatePKCECodeChallenge(exchange.verifier),
    code_challenge_method: 'S256',
    ...(purpose === 'confirm' ? { max_age: '0' } : {}),
  })
  return { url: url.href, exchange }
}

/**
 * Exchanges the code that the browser brought for the claims of its user.
 *
 * @param url the callback's URL, as the provider knows it, with the query of the request
 * @throws AppError provider_unavailable, provider_refused, sign_in_failed
 */
export async function finishExchange(
  deps: Services,
  provider: Provider,
  { exchange, purpose, url }: { readonly exchange: Exchange; readonly purpose: Purpose; readonly url: string },
): Promise<Passed> {
  try {
    const configuration = await connectTo(deps, provider)
    const client = await import('openid-client')
    const tokens = await client
      .authorizationCodeGrant(configuration, new URL(url), {
        expectedState: exchange.state,
        expectedNonce: exchange.nonce,
        pkceCodeVerifier: exchange.verifier,
        idTokenExpected: true,
        ...(purpose === 'confirm' ? { maxAge: proofSeconds } : {}),
      })
      .catch((error: unknown) => {
        throw isClientRefusal(error) ? clientRefused(deps, provider, error) : error
      })
    const claims: Claims = tokens.claims() ?? {}
    const { userinfo_endpoint } = configuration.serverMetadata()
    const profile =
      needsProfile(provider, claims) && userinfo_endpoint !== undefined
        ? await client.fetchUserInfo(configuration, tokens.access_token, String(claims.sub))
        : undefined
    return readClaims(provider, claims, profile)
  } catch (error) {
    throw asRefusal(deps, provider, error)
  }
}

function clientRefused({ log }: Services, { id, name }: Provider, cause: unknown): AppError {
  const detail = `${name} refuses the client id or the client secret of this service. Ask the operator of Grove to correct them`
  log.error({ err: cause, provider: id }, 'the provider refuses the client id or the client secret')
  return new AppError('sign_in_failed', detail, {}, { cause })
}

/** Shows nothing of the provider's text but its error code. */
function asRefusal({ log }: Services, provider: Provider, error: unknown): unknown {
  if (error instanceof AppError) return error
  if (!(error instanceof Error)) return error
  log.warn({ err: error, provider: provider.id }, 'a sign-in through a provider failed')
  if (isAwayError(error)) return unavailableError(provider, error)
  const { code, error: named } = error as Error & { readonly code?: unknown; readonly error?: unknown } // errors have them in the library
  if (code === 'OAUTH_AUTHORIZATION_RESPONSE_ERROR')
    return new AppError(
      'provider_refused',
      `${provider.name} did not let you in: ${codeIn(named)}. Start again, or ask its administrators for access`,
      {},
      { cause: error },
    )
  const detail = `The answer of ${provider.name} is not valid, or was used before. Start again`
  return new AppError('sign_in_failed', detail, {}, { cause: error })
}

function codeIn(named: unknown): string {
  return typeof named === 'string' && /^[\w.-]{1,60}$/.test(named) ? named : 'unknown error'
}
