/** The open sessions of the signed-in user. */

import { AppError } from '../../base/errors.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import type { Page, PageContext, PageResult } from '../page-context.ts'
import { AuditRows } from '../parts/audit-rows.tsx'
import { plural, When } from '../parts/dates.tsx'
import { field, submitForm, type Trouble, TroubleOf } from '../parts/forms.tsx'
import { MeTabs } from '../parts/me-tabs.tsx'
import { Pages, pageOffset } from '../parts/paging.tsx'
import { clientName } from '../text/client-name.ts'

type Session = AnswerOf<'listSessions'>['sessions'][number]

/** Sessions on a page. */
const size = 50
/** Entries of the audit that the page shows. */
const mostEntries = 20

/** Notices after an act, by the value in the query. */
const notices: Readonly<Record<string, string>> = {
  session: 'The session has ended.',
  sessions: 'All other sessions have ended.',
}

export function showSessions(visit: PageContext): Promise<Page> {
  return sessionsPage(visit)
}

export async function takeSessions(visit: PageContext): Promise<PageResult> {
  const { api, form, urls } = visit
  return submitForm(
    (trouble) => sessionsPage(visit, trouble),
    async () => {
      switch (form.get('act')) {
        case 'end':
          await api.endSession({ path: { session_id: field(form, 'session') } })
          return `${urls.me('sessions')}?saved=session`
        case 'end-others':
          await api.endOtherSessions({})
          return `${urls.me('sessions')}?saved=sessions`
        default:
          throw new AppError('bad_request', 'The form does not name a known action')
      }
    },
  )
}

async function sessionsPage(visit: PageContext, trouble?: Trouble): Promise<Page> {
  const { api, urls, query, person } = visit
  const offset = pageOffset(query.get('from'))
  const { sessions, total } = await api.listSessions({ query: { limit: size, offset } })
  const { entries } = await api.listMyAudit({ query: { limit: mostEntries } })
  const saved = trouble === undefined ? query.get('saved') : null
  const notice = saved === null ? undefined : notices[saved]
  const action = urls.me('sessions')
  return {
    ...{ kind: 'page', place: { crumb: 'Sessions' }, facts: { sessions, total, entries, trouble, notice } },
    head: { title: 'Sessions · Grove', noIndex: true },
    body: () => (
      <main id="main" class="page settings">
        <h1>Sessions</h1>
        <MeTabs urls={urls} here="sessions" hasServices={visit.oidc.services.length > 0} />
        {notice !== undefined && (
          <p class="notice" role="status">
            {notice}
          </p>
        )}
        <TroubleOf trouble={trouble} fields={[]} />
        <p class="why">
          {plural(total, 'session')}. If you do not recognise one, end it and{' '}
          <a href={urls.me('password')}>change your password</a>.
        </p>
        <ul class="rows">
          {sessions.map((session) => (
            <SessionRow session={session} action={action} providerName={visit.oidc.nameOf} />
          ))}
        </ul>
        <Pages base={action} {...{ offset, size, total }} />
        {total > 1 && (
          <details>
            <summary class="btn">Sign out everywhere else…</summary>
            <form method="post" action={action} class="ask">
              <p>All other sessions end immediately. Tokens stay valid.</p>
              <button type="submit" class="btn stop" name="act" value="end-others">
                Sign out everywhere else
              </button>
            </form>
          </details>
        )}
        <h2>Activity of your account</h2>
        <AuditRows entries={entries} urls={urls} {...(person && { ownId: person.id })} />
      </main>
    ),
  }
}

interface SessionRowProps {
  readonly session: Session
  readonly action: string
  readonly providerName: (id: string) => string
}

function SessionRow({ session, action, providerName }: SessionRowProps) {
  const { id, current, created_at, last_used_at, user_agent, address, method, provider } = session
  const name = clientName(user_agent)
  return (
    <li>
      <div>
        <strong title={user_agent}>{name}</strong> {current && <span class="account-mark">This browser</span>}
        <small>
          since <When time={created_at} as="day" />
          {last_used_at !== undefined && (
            <>
              {' '}
              · last used <When time={last_used_at} />
            </>
          )}
          {address !== undefined && ` · ${address}`}
          {method === 'reset' && ' · opened with a reset link'}
          {provider !== undefined && ` · signed in through ${providerName(provider)}`}
        </small>
      </div>
      {!current && (
        <form method="post" action={action}>
          <input type="hidden" name="session" value={id} />
          <button type="submit" class="btn" name="act" value="end" aria-label={`End the session of ${name}`}>
            End
          </button>
        </form>
      )}
    </li>
  )
}
