/** The home page: proposals that wait, and organisations. Anonymous visitors see a welcome. */

import type { Page, PageContext } from '../page-context.ts'
import { HomeTabs } from '../parts/home-tabs.tsx'
import { Icon } from '../parts/icons.tsx'
import { readWaiting, WaitingForYou } from '../parts/waiting.tsx'
import { showWelcome } from './welcome.tsx'

/** Maximum organisations on the page. */
const mostOrgs = 100

export async function showHome(visit: PageContext): Promise<Page> {
  return visit.person === undefined ? showWelcome(visit) : mine(visit)
}

async function mine(visit: PageContext): Promise<Page> {
  const { api, urls, person, unread } = visit
  const { orgs, total } = await api.listOrgs({ query: { limit: mostOrgs } })
  for (const { id, name } of orgs) urls.learn(id, name)
  const waiting = await readWaiting(visit, orgs)
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
        <HomeTabs urls={urls} here="home" unread={unread} />
        <WaitingForYou visit={visit} told={waiting} />
        {orgs.length === 0 && <p class="lede">Create an organisation, or ask the owner of one for an invitation.</p>}
        <ul class="tiles">
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
