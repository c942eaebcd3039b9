/** The way to another service, and the return from it. */

import { AppError } from '../../base/errors.ts'
import type { Arrived } from '../../http/oidc/visit.ts'
import { noPageError, type Page, type PageContext, type PageResult, param, redirect } from '../page-context.ts'
import { asSentence } from '../text/broken-rules.ts'
import { ownPath } from '../urls.ts'
import { joined } from './sign-in.tsx'

const purposes = ['sign-in', 'link', 'confirm'] as const

export async function showOidc(visit: PageContext): Promise<PageResult> {
  const { query, urls, oidc } = visit
  const purpose = purposes.find((one) => one === (query.get('purpose') ?? 'sign-in'))
  if (purpose === undefined) throw noPageError()
  if (!visit.canSignIn) return refused(visit, 403, 'You can sign in here only over HTTPS.')
  const invitation = query.get('invitation')
  return explained(visit, async () => {
    const next = ownPath(urls, query.get('next'))
    const given = invitation === null ? {} : { invitation }
    return redirect(302, await oidc.begin({ provider: param(visit, 'provider'), purpose, next, ...given }))
  })
}

export async function showOidcCallback(visit: PageContext): Promise<PageResult> {
  const { urls, oidc } = visit
  return explained(visit, async () => {
    const arrived = await oidc.finish(param(visit, 'provider'))
    if (arrived.arrival.act === 'linked') return redirect(303, `${urls.me('identities')}?saved=linked`)
    return redirect(303, await pathAfter(visit, arrived))
  })
}

/** Keeps a new session in the browser. Returns the path to go to. */
async function pathAfter(visit: PageContext, { arrival, next, invitation }: Arrived): Promise<string> {
  const { urls } = visit
  const path = ownPath(urls, next)
  if (arrival.act !== 'signed-in') return path
  const { session, isNew, org } = arrival
  const signedIn = await visit.signIn(session.accessToken)
  if (!isNew) return invitation === undefined ? path : joined(visit, signedIn.api, invitation)
  if (org !== undefined) return urls.welcome(org)
  return path === urls.home() && session.user.org_id !== undefined ? urls.welcome(session.user.org_id) : path
}

/** The errors that a page explains, with a link to begin again. */
const explainedCodes: ReadonlySet<string> = new Set<AppError['code']>([
  'sign_in_failed',
  'provider_refused',
  'provider_unavailable',
  'account_disabled',
  'account_exists',
  'email_unverified',
  'identity_taken',
  'too_many_identities',
  'signup_closed',
  'invitation_not_found',
  'confirmation_required',
  'bad_request',
])

const statuses: Readonly<Record<string, number>> = {
  sign_in_failed: 400,
  bad_request: 400,
  account_exists: 409,
  identity_taken: 409,
  too_many_identities: 409,
  provider_unavailable: 503,
  invitation_not_found: 403,
}

/** Seconds. A provider that does not answer is asked again after 10 seconds. */
const retryAfter = 10

async function explained(visit: PageContext, act: () => Promise<PageResult>): Promise<PageResult> {
  try {
    return await act()
  } catch (error) {
    if (!(error instanceof AppError) || !explainedCodes.has(error.code)) throw error
    const page = refused(visit, statuses[error.code] ?? 403, asSentence(error.message), error.code)
    return error.code === 'provider_unavailable' ? { ...page, retryAfter } : page
  }
}

function refused({ urls, person }: PageContext, status: number, says: string, code?: string): Page {
  return {
    ...{ kind: 'page', status, place: {}, facts: { says } },
    head: { title: 'Sign-in · Grove', noIndex: true },
    body: () => (
      <main id="main" class="sheet">
        <h1>{person === undefined ? 'You are not signed in' : 'Nothing has changed'}</h1>
        <p class="problem" role="alert">
          {says}
        </p>
        {code !== undefined && (
          <p class="why">
            Code: <code>{code}</code>
          </p>
        )}
        <p class="acts">
          <a class="btn go" href={person === undefined ? urls.signIn() : urls.me('identities')}>
            {person === undefined ? 'Start again' : 'Back to your account'}
          </a>
        </p>
      </main>
    ),
  }
}
