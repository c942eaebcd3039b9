/** The programs that the signed-in user has connected. */

import { hidden } from '../../../pages/kit/controls.tsx'
import { Row, Rows } from '../../../pages/kit/parts.tsx'
import { meFrame } from '../../../pages/kit/scene-frames.tsx'
import { act, settings } from '../../../pages/kit/settings.tsx'
import { plural, When } from '../../../pages/parts/dates.tsx'
import { accessWords, LastUsed, reachOf } from '../../../pages/parts/tokens.tsx'

/** Maximum connections and organisations listed. A user has at most 50 connections. */
const most = 100

export const connectionsPage = settings({
  frame: meFrame('connections'),
  title: 'Connections',
  says: { end: 'The connection has ended.' },
  read: async ({ api }) => ({
    ...(await api.listMyConnections({ query: { limit: most } })),
    orgs: (await api.listOrgs({ query: { limit: most } })).orgs,
  }),
  acts: {
    end: act('End', { grant_id: hidden }, ({ api }, path) => api.endMyConnection({ path }), 'stop'),
  },
  view: ({ connections, total, orgs }, { form, visit: { urls } }) => (
    <>
      <p class="why">
        {total === 0
          ? 'You have not connected a program yet.'
          : `${plural(total, 'connection')} of programs can act for you.`}{' '}
        To connect one, give it the URL <span class="ref">{urls.base}/mcp</span>.
      </p>
      <Rows of={connections}>
        {({ id, client_name: name, access, resource, created_at, last_used_at, ...reach }) => (
          <Row
            title={
              <strong>
                <bdi>{name}</bdi>
              </strong>
            }
            facts={
              <>
                {accessWords(access)} in {reachOf(reach, orgs)}{' '}
                {resource === 'mcp' ? 'through /mcp' : 'through the API and Git'} · since <When time={created_at} /> ·{' '}
                <LastUsed time={last_used_at} />
              </>
            }
          >
            {form('end', { values: { grant_id: id }, of: `the connection of ${name}` })}
          </Row>
        )}
      </Rows>
    </>
  ),
})
