/** The recent changes of an organisation, a page at a time. */

import type { AnswerOf } from '../../http/in-process.ts'
import { Empty } from '../kit/empty.tsx'
import { Lines } from '../kit/lines.tsx'
import { type Page, type PageContext, param } from '../page-context.ts'
import { readTitles, type Titles } from '../parts/commit-words.ts'
import { byDay } from '../parts/dates.tsx'
import { countOpen, OrgTabs } from '../parts/org-tabs.tsx'
import { type Change, ChangeItem } from '../parts/recent-changes.tsx'
import type { Urls } from '../urls.ts'

type Org = AnswerOf<'getOrg'>

/** Changes on a page. */
const pageSize = 50

export async function showOrgChanges(visit: PageContext): Promise<Page> {
  const { api, urls, query } = visit
  const path = { org_id: param(visit, 'org') }
  const before = positionIn(query)
  const org = await api.getOrg({ path })
  const [told, open] = await Promise.all([
    api.listChanges({ path, query: { limit: pageSize, ...(before !== undefined && { before }) } }),
    countOpen(visit, org),
  ])
  const messages = told.changes.flatMap(({ commit }) => commit?.message ?? [])
  const titles = await readTitles(api, org.id, messages)
  const feed = { type: 'application/atom+xml', title: `Changes in ${org.name}`, href: urls.feed(org.id) }
  return {
    ...{ kind: 'page', place: { org, crumb: 'Changes' }, facts: { org, told, open, titles } },
    head: { title: `Recent changes · ${org.name}`, noIndex: true, ...(org.published && { alternates: [feed] }) },
    body: () => (
      <>
        <OrgTabs {...{ urls, org, open }} here="changes" />
        <main id="main" class="wide changes">
          <h1>Recent changes</h1>
          <p class="why">
            Each page with its latest change.{' '}
            {org.published && (
              <>
                Follow them in a <a href={urls.feed(org.id)}>feed</a>.
              </>
            )}
          </p>
          {told.changes.length === 0 &&
            (before === undefined ? (
              <Empty example="acts">Each page that somebody writes or changes is listed here.</Empty>
            ) : (
              <p class="empty">There are no older changes.</p>
            ))}
          <Days {...{ urls, org, titles }} changes={told.changes} />
          {(before !== undefined || told.next !== undefined) && (
            <p class="acts">
              {before !== undefined && (
                <a class="btn" href={urls.changes(org.id)}>
                  Newest
                </a>
              )}
              {told.next !== undefined && (
                <a class="btn" href={urls.changes(org.id, told.next)} rel="next">
                  Older
                </a>
              )}
            </p>
          )}
        </main>
      </>
    ),
  }
}

/** Returns where the page before ended; undefined if the query does not name a position. */
function positionIn(query: URLSearchParams): string | undefined {
  const before = query.get('before') ?? ''
  return /^\d{4}-\d{2}-\d{2}T[\d:.]{8,16}Z~[0-9a-f-]{36}$/.test(before) ? before : undefined
}

interface DaysProps {
  readonly urls: Urls
  readonly org: Org
  readonly changes: readonly Change[]
  readonly titles: Titles
}

function Days({ urls, org, changes, titles }: DaysProps) {
  return (
    <>
      {byDay(changes, ({ updated_at }) => updated_at).map(([day, some]) => (
        <section class="card">
          <header>
            <h2>{day}</h2>
          </header>
          <Lines>
            {some.map((change) => (
              <ChangeItem {...{ urls, change, titles }} org={org.id} />
            ))}
          </Lines>
        </section>
      ))}
    </>
  )
}
