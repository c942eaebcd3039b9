/** The open sessions of the signed-in user. */

import { hidden } from '../kit/controls.tsx'
import { Row, Rows } from '../kit/parts.tsx'
import { meFrame } from '../kit/scene-frames.tsx'
import { act, settings } from '../kit/settings.tsx'
import { readAuditNames } from '../parts/activity-names.ts'
import { AuditRows } from '../parts/audit-rows.tsx'
import { plural, When } from '../parts/dates.tsx'
import { Pages, pageOffset } from '../parts/paging.tsx'
import { LastUsed } from '../parts/tokens.tsx'
import { clientName } from '../text/client-name.ts'

/** Sessions on a page. */
const size = 50
/** Entries of the audit that the page shows. */
const mostEntries = 20

export const sessionsPage = settings({
  frame: meFrame('sessions'),
  title: 'Sessions',
  says: { end: 'The session has ended.', 'end-others': 'All other sessions have ended.' },
  async read(visit) {
    const { api, query } = visit
    const offset = pageOffset(query.get('from'))
    const { entries } = await api.listMyAudit({ query: { limit: mostEntries } })
    return {
      entries,
      names: await readAuditNames(visit, entries),
      ...(await api.listSessions({ query: { limit: size, offset } })),
    }
  },
  acts: {
    end: act('End', { session_id: hidden }, ({ api }, path) => api.endSession({ path })),
    'end-others': act('Sign out everywhere else', {}, ({ api }) => api.endOtherSessions({}), 'stop'),
  },
  view: ({ sessions, total, offset, entries, names }, { form, ask, visit: { urls, oidc, person } }) => (
    <>
      <p class="why">
        {plural(total, 'session')}. If you do not recognise one, end it and{' '}
        <a href={urls.me('password')}>change your password</a>.
      </p>
      <Rows of={sessions}>
        {({ id, current, created_at, last_used_at, user_agent, address, method, provider }) => (
          <Row
            title={
              <>
                <strong title={user_agent}>{clientName(user_agent)}</strong>{' '}
                {current && <span class="account-mark">This browser</span>}
              </>
            }
            facts={
              <>
                since <When time={created_at} as="day" /> · <LastUsed time={last_used_at} />
                {address !== undefined && ` · ${address}`}
                {method === 'reset' && ' · opened with a reset link'}
                {provider !== undefined && ` · signed in through ${oidc.nameOf(provider)}`}
              </>
            }
          >
            {!current && form('end', { values: { session_id: id }, of: `the session of ${clientName(user_agent)}` })}
          </Row>
        )}
      </Rows>
      <Pages base={urls.me('sessions')} {...{ offset, size, total }} />
      {total > 1 && ask('end-others', 'All other sessions end immediately. Tokens stay valid.')}
      <h2>Activity of your account</h2>
      <AuditRows {...{ entries, urls, names }} {...(person && { ownId: person.id })} />
    </>
  ),
})
