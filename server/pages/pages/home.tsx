/** The home page: proposals that wait, and organisations. Anonymous visitors see a welcome. */

import type { Page, PageContext } from '../page-context.ts'
import { Icon } from '../parts/icons.tsx'
import { readWaiting, WaitingForYou } from '../parts/waiting.tsx'

/** Maximum organisations on the page. */
const mostOrgs = 100

export async function showHome(visit: PageContext): Promise<Page> {
  return visit.person === undefined ? welcome(visit) : mine(visit)
}

function welcome({ urls }: PageContext): Page {
  const head = {
    title: 'Grove',
    description: 'A content service that stores every document in its own Git repository.',
    canonical: urls.absolute(urls.home()),
    kind: 'website',
  } as const
  return {
    ...{ kind: 'page', head, place: {}, facts: 'welcome' },
    body: () => (
      <main id="main" class="page welcome">
        <p class="mark">
          <Icon name="leaf" size={44} />
        </p>
        <h1>Write together and keep the history of every word</h1>
        <p class="lede">
          Grove stores every document in its own Git repository. Read and edit it here, clone it or push to it. Propose
          a change (a pull request), review it word by word, and merge it.
        </p>
        <p class="acts">
          <a class="btn go" href={urls.signIn()}>
            Sign in
          </a>
          <a class="btn" href={urls.signUp()}>
            Sign up
          </a>
          <a class="btn quiet" href={`${urls.root}/docs`}>
            API
          </a>
        </p>
      </main>
    ),
  }
}

async function mine(visit: PageContext): Promise<Page> {
  const { api, urls, person } = visit
  const { orgs, total } = await api.listOrgs({ query: { limit: mostOrgs } })
  const waiting = await readWaiting(visit)
  return {
    ...{ kind: 'page', head: { title: 'Grove', noIndex: true }, place: {}, facts: { orgs, total, waiting } },
    body: () => (
      <main id="main" class="wide home">
        <div class="hero">
          <h1>{person?.name}</h1>
          <div class="meta">
            <span>
              {total} {total === 1 ? 'organisation' : 'organisations'}
            </span>
            <a class="btn" href={urls.newOrg()}>
              New organisation
            </a>
            <a class="btn quiet" href={urls.join()}>
              Use an invitation
            </a>
          </div>
        </div>
        <WaitingForYou visit={visit} told={waiting} />
        {orgs.length === 0 && <p class="lede">Create an organisation, or ask the owner of one for an invitation.</p>}
        <ul class="orgs">
          {orgs.map((org) => (
            <li class="card">
              <a href={urls.org(org.id)}>
                <strong>{org.name}</strong>
                {org.description && <p>{org.description}</p>}
                <small>
                  <Icon name={org.published ? 'globe' : 'lock'} size={14} />
                  {org.published ? 'Published' : 'Members only'} · {org.role}
                </small>
              </a>
            </li>
          ))}
        </ul>
        {total > orgs.length && <p class="why">and {total - orgs.length} more</p>}
      </main>
    ),
  }
}
