/** The page that shows an error of the API, or asks to sign in. */

import { AppError } from '../../base/errors.ts'
import type { ShownError } from '../../http/request-state.ts'
import { type Page, type PageContext, param } from '../page-context.ts'
import { mayDelete } from '../parts/rights.ts'
import { asSentence } from '../text/broken-rules.ts'
import { SignInForm } from './sign-in.tsx'

const titles: Readonly<Record<number, string>> = {
  403: 'You do not have access',
  404: 'Not found',
  409: 'Conflict',
  429: 'Too many requests',
  503: 'Temporarily unavailable',
}

/** Does not say whether the organisation exists. */
const noOrg = 'You are no longer a member of this organisation, or it does not exist.'

export function errorPage(visit: PageContext, error: ShownError): Page {
  const { status, detail, code, request_id } = error
  const page = { kind: 'page', status, place: {}, facts: error } as const
  if (status === 401) {
    const head = { title: 'Sign in · Grove', noIndex: true }
    const trouble = code === 'unauthenticated' ? undefined : { says: asSentence(detail) }
    return { ...page, head, body: () => <SignInForm visit={visit} next={visit.here} trouble={trouble} /> }
  }
  const title = titles[status] ?? (status < 500 ? 'This is not possible' : 'Something went wrong')
  return {
    ...page,
    head: { title: `${title} · Grove`, noIndex: true },
    body: () => (
      <main id="main" class="page narrow">
        <h1>{title}</h1>
        <p class="lede">{code === 'org_not_found' && visit.person ? noOrg : asSentence(detail)}</p>
        {status >= 500 && <p class="why">Request id: {request_id}</p>}
        <p>
          <a class="btn" href={visit.urls.home()}>
            Home
          </a>
        </p>
      </main>
    ),
  }
}

/** Leads those who may restore pages from a page that is gone to the trash. @throws `error` for others */
export async function deletedPage(visit: PageContext, error: unknown): Promise<Page> {
  if (visit.person === undefined || !(error instanceof AppError && error.code === 'node_not_found')) throw error
  const org = await visit.api.getOrg({ path: { org_id: param(visit, 'org') } })
  if (!mayDelete(org.role)) throw error
  return {
    ...{ kind: 'page', status: 404, place: { org }, facts: org },
    head: { title: `Not found · ${org.name}`, noIndex: true },
    body: () => (
      <main id="main" class="page narrow">
        <h1>Not found</h1>
        <p class="lede">There is no page at this URL. If it was deleted, it may be in the trash.</p>
        <p>
          <a class="btn" href={visit.urls.trash(org.id)}>
            Trash
          </a>
        </p>
      </main>
    ),
  }
}
