/** Signing in through another service, as pages use it. */

import type { Request, Response } from 'express'
import { AppError } from '../../base/errors.ts'
import { confirmSession, requireConfirmed } from '../../domain/accounts/confirmation.ts'
import { finishExchange, startExchange } from '../../domain/accounts/oidc/authorization.ts'
import {
  callbackOf,
  findProvider,
  listProviders,
  metadataOf,
  requireProvider,
} from '../../domain/accounts/oidc/providers.ts'
import { providerOfSession } from '../../domain/accounts/oidc/session-provider.ts'
import { type Arrival, arrive } from '../../domain/accounts/oidc/sign-in.ts'
import { provePassword } from '../../domain/accounts/password-proof.ts'
import type { Person } from '../../domain/actor.ts'
import type { Services } from '../../domain/services.ts'
import { networkOf } from '../connection/addresses.ts'
import { baseUrl } from '../connection/base-url.ts'
import { originOf } from '../origin.ts'
import { type Kept, keepExchange, takeExchange } from './exchange-cookies.ts'

interface Service {
  readonly id: string
  readonly name: string
}

interface Beginning {
  readonly provider: string
  readonly purpose: Kept['purpose']
  readonly next: string
  readonly invitation?: string
}

/** A user who came back. `next`: where the browser goes. */
export interface Arrived {
  readonly arrival: Arrival
  readonly next: string
  /** The invitation that the sign-in began with. */
  readonly invitation?: string
}

export interface OidcVisit {
  readonly services: readonly Service[]
  /** False: users sign in only through these services. */
  readonly hasPasswords: boolean
  /** The name of a service, also of one that is no longer configured. */
  nameOf(id: string): string
  /**
   * Returns the URL of the service to go to.
   *
   * @throws AppError not_found, provider_unavailable, forbidden, unauthenticated, confirmation_required
   */
  begin(beginning: Beginning): Promise<string>
  /** Uses the answer in the URL. @throws AppError sign_in_failed and the errors of `arrive` */
  finish(provider: string): Promise<Arrived>
  /** Confirms the session by the user's password. @throws errors of `provePassword` */
  confirm(password: string): Promise<void>
  /** Returns the page that signs the user out of the service of their session. Undefined: there is none. */
  farewell(): Promise<{ readonly name: string; readonly url: string } | undefined>
}

interface Visitor {
  readonly req: Request
  readonly res: Response
  readonly person: Person | undefined
  /** True if a page of this service sent the request. */
  readonly isFromPage: boolean
}

/** Characters of the path that is kept for the return. */
const mostNext = 1_500
/** Characters of a query. */
const mostQuery = 4_096

export function oidcVisit(plain: Services, { req, res, person, isFromPage }: Visitor): OidcVisit {
  const deps = { ...plain, origin: originOf(req, 'page') }
  const base = baseUrl(deps.config.publicUrl, req)
  const isSecure = base.startsWith('https:')
  const client = { from: networkOf(req), ...userAgentOf(req) }
  return {
    services: listProviders(deps).map(({ id, name }) => ({ id, name })),
    hasPasswords: deps.config.passwordLogin !== false,
    nameOf: (id) => findProvider(deps, id)?.name ?? id,
    begin: async ({ provider: id, purpose, next, invitation }) => {
      const provider = requireProvider(deps, id)
      requireShort(req)
      if (purpose !== 'sign-in') await requireOwner(deps, { person, isFromPage, purpose })
      const { url, exchange } = await startExchange(deps, provider, { purpose, redirectUri: callbackOf(base, id) })
      const kept = {
        ...{ provider: id, purpose, ...exchange, invitation, at: deps.now().getTime() },
        next: next.length > mostNext ? '' : next,
        ...(purpose === 'sign-in' ? {} : { session: person?.sessionId }),
      }
      keepExchange(req, res, kept, isSecure)
      res.set('Cache-Control', 'no-store')
      return url
    },
    finish: async (id) => {
      const provider = requireProvider(deps, id)
      requireShort(req)
      res.set('Cache-Control', 'no-store')
      const query = queryOf(req)
      const kept = takeExchange(req, res, query.get('state') ?? '', { isSecure, now: deps.now() })
      if (kept?.provider !== id) throw startAgain()
      const { purpose, next, invitation, session } = kept
      if (purpose !== 'sign-in' && (session === undefined || session !== person?.sessionId)) throw startAgain()
      const url = `${callbackOf(base, id)}?${query}`
      const passed = await finishExchange(deps, provider, { exchange: kept, purpose, url })
      const actor = purpose === 'sign-in' || person === undefined ? {} : { actor: person }
      const given = invitation === undefined ? {} : { invitation }
      const arrival = await arrive(deps, { provider, passed, purpose, client, ...actor, ...given })
      return { arrival, next, ...given }
    },
    confirm: async (password) => {
      if (person === undefined) throw new AppError('unauthenticated', 'Sign in first')
      await provePassword({ ...deps, actor: person, request: client }, { password })
      await confirmSession({ ...deps, actor: person })
    },
    farewell: async () => {
      const provider = person && (await providerOfSession({ ...deps, actor: person }))
      if (provider === undefined) return undefined
      const metadata = await metadataOf(deps, provider).catch(() => undefined)
      if (metadata?.end_session_endpoint === undefined) return undefined
      const url = new URL(metadata.end_session_endpoint)
      url.searchParams.set('client_id', provider.clientId)
      return { name: provider.name, url: url.href }
    },
  }
}

function queryOf(req: Request): URLSearchParams {
  return new URLSearchParams(req.url.split('?').slice(1).join('?'))
}

function requireShort(req: Request): void {
  if (req.url.length > mostQuery) throw new AppError('bad_request', 'The parameters of this page are too long')
}

/**
 * Checks that the user began it on a page of this service. Another site could link an identity that it controls. A link
 * gives a way in, so the session must be confirmed.
 */
async function requireOwner(
  deps: Services,
  { person, isFromPage, purpose }: Pick<Visitor, 'person' | 'isFromPage'> & Pick<Beginning, 'purpose'>,
): Promise<void> {
  if (person === undefined) throw new AppError('unauthenticated', 'Sign in first')
  if (person.sessionId === undefined || !isFromPage) throw new AppError('forbidden', 'Begin this on your account pages')
  if (purpose === 'link') await requireConfirmed({ ...deps, actor: person })
}

function startAgain(): AppError {
  const detail = 'This sign-in is too old, was used before, or began in another browser. Start again'
  return new AppError('sign_in_failed', detail)
}

function userAgentOf(req: Request): { readonly userAgent?: string } {
  const userAgent = req.headers['user-agent']
  return userAgent === undefined ? {} : { userAgent }
}
