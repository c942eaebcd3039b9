/** The programs that the signed-in user has connected. */

import { AppError } from '../../../base/errors.ts'
import type { AnswerOf } from '../../../http/in-process.ts'
import type { Page, PageContext, PageResult } from '../../../pages/page-context.ts'
import { plural, When } from '../../../pages/parts/dates.tsx'
import { field, submitForm, type Trouble, TroubleOf } from '../../../pages/parts/forms.tsx'
import { MeTabs } from '../../../pages/parts/me-tabs.tsx'

type Connection = AnswerOf<'listMyConnections'>['connections'][number]
type Orgs = AnswerOf<'listOrgs'>['orgs']

/** Maximum connections and organisations listed. A user has at most 50 connections. */
const most = 100

const accessWords: Readonly<Record<Connection['access'], string>> = {
  read: 'can read',
  propose: 'can read and propose changes',
  write: 'can read and change',
}

export function showConnections(visit: PageContext): Promise<Page> {
  return connectionsPage(visit)
}

export async function takeConnections(visit: PageContext): Promise<PageResult> {
  const { api, form, urls } = visit
  return submitForm(
    (trouble) => connectionsPage(visit, trouble),
    async () => {
      if (form.get('act') !== 'end') throw new AppError('bad_request', 'The form does not name a known action')
      await api.endMyConnection({ path: { grant_id: field(form, 'connection') } })
      return `${urls.me('connections')}?saved`
    },
  )
}

async function connectionsPage({ api, urls, query, oidc }: PageContext, trouble?: Trouble): Promise<Page> {
  const [{ connections, total }, { orgs }] = await Promise.all([
    api.listMyConnections({ query: { limit: most } }),
    api.listOrgs({ query: { limit: most } }),
  ])
  const isSaved = trouble === undefined && query.has('saved')
  return {
    ...{ kind: 'page', place: { crumb: 'Connections' }, facts: { connections, orgs, trouble, isSaved } },
    head: { title: 'Connections · Grove', noIndex: true },
    body: () => (
      <main id="main" class="page settings">
        <h1>Connections</h1>
        <MeTabs urls={urls} here="connections" hasServices={oidc.services.length > 0} />
        {isSaved && (
          <p class="notice" role="status">
            The connection has ended.
          </p>
        )}
        <TroubleOf trouble={trouble} fields={[]} />
        <p class="why">
          {total === 0
            ? 'You have not connected a program yet.'
            : `${plural(total, 'connection')} of programs can act for you.`}{' '}
          To connect one, give it the URL <span class="ref">{urls.base}/mcp</span>.
        </p>
        <ul class="rows">
          {connections.map((connection) => (
            <ConnectionRow connection={connection} orgs={orgs} action={urls.me('connections')} />
          ))}
        </ul>
      </main>
    ),
  }
}

interface RowProps {
  readonly connection: Connection
  readonly orgs: Orgs
  readonly action: string
}

function ConnectionRow({ connection, orgs, action }: RowProps) {
  const { id, client_name: name, access, resource, created_at, last_used_at } = connection
  return (
    <li>
      <div>
        <strong>
          <bdi>{name}</bdi>
        </strong>
        <small>
          {accessWords[access]} in {reachOf(connection, orgs)}{' '}
          {resource === 'mcp' ? 'through /mcp' : 'through the API and Git'} · since <When time={created_at} /> ·{' '}
          {last_used_at === undefined ? (
            'never used'
          ) : (
            <>
              last used <When time={last_used_at} />
            </>
          )}
        </small>
      </div>
      <form method="post" action={action}>
        <input type="hidden" name="connection" value={id} />
        <button type="submit" class="btn stop" name="act" value="end" aria-label={`End the connection of ${name}`}>
          End
        </button>
      </form>
    </li>
  )
}

function reachOf({ org_id, node_id }: Connection, orgs: Orgs): string {
  if (org_id === undefined) return 'all your organisations'
  const org = orgs.find(({ id }) => id === org_id)?.name ?? org_id
  return node_id === undefined ? org : `node ${node_id} in ${org}`
}
