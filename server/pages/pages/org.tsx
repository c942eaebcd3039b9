/** One organisation: home text, tree, recent changes, proposals, members and small map. */

import type { ComponentChildren } from 'preact'
import * as limits from '../../base/limits.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { createExample } from '../example.ts'
import { type Page, type PageContext, type PageResult, param, redirect } from '../page-context.ts'
import { readTitles, type Titles } from '../parts/commit-words.ts'
import { plural } from '../parts/dates.tsx'
import { unlessBusy } from '../parts/degraded.ts'
import { type Follow, FollowButtons, readFollow } from '../parts/follow-button.tsx'
import { Icon } from '../parts/icons.tsx'
import { OrgTabs } from '../parts/org-tabs.tsx'
import { ChangeGroups, type Group, groupChanges, isAlike, longestPause } from '../parts/recent-changes.tsx'
import { mayPropose, mayWrite } from '../parts/rights.ts'
import { aRole } from '../parts/roles.tsx'
import { WordsForm } from '../parts/search-form.tsx'
import { mostDots, type SmallMapFacts } from '../parts/small-map.tsx'
import { areasOf, readTree, type Tree, TreeSide } from '../parts/tree.tsx'
import { beginning, pictureOf } from '../text/beginning.ts'
import type { Urls } from '../urls.ts'
import { EmptyOrg, JoinedNotice } from './empty-org.tsx'
import { EditHome, type Home, HomeText, NoHome, readHome, showHome } from './home-text.tsx'
import { type Aside, OrgAside } from './org-aside.tsx'

type Org = AnswerOf<'getOrg'>
type Nodes = Pick<AnswerOf<'listNodes'>, 'nodes' | 'total'>

/** `changes`: read at a time, for grouping, in so many `rounds`. `groups`: shown. `proposals`, `members`: shown next to the text. `tiles`: pages shown to readers. */
const most = { changes: 60, rounds: 3, groups: 6, proposals: 5, members: 8, tiles: 24 } as const

export async function showOrg(visit: PageContext): Promise<Page> {
  const { api, urls, query } = visit
  const path = { org_id: param(visit, 'org') }
  const org = await api.getOrg({ path })
  const [latest, aside] = await Promise.all([
    api.listNodes({ path, query: { order: 'changed', limit: 8 } }),
    readAside(visit, org),
  ])
  const isNew = query.has('welcome') && org.role !== undefined
  if (latest.total === 0) return emptyPage(visit, org, aside.proposals?.total, isNew)
  const isMember = org.role !== undefined
  const [tree, groups, map] = await Promise.all([
    readTree(visit, org),
    isMember ? readGroups(visit) : [],
    isMember ? readMap(visit, latest.total) : undefined,
  ])
  const follow = await readFollow(visit, org)
  const { home, isMissing, blank } = await readHome(visit, org, tree)
  const hasNoHome = isMissing && mayWrite(org.role)
  const titles = await readTitles(api, org.id, messagesOf(groups))
  let html = ''
  return {
    kind: 'page',
    head: headOf(visit, org, latest, home),
    place: { org, hasSide: true },
    facts: { org, nodes: latest.total, aside, tree, groups, map, home, blank, hasNoHome, titles, follow },
    prepare: async () => {
      if (home !== undefined) html = await showHome(visit, org, home)
    },
    body: () => (
      <>
        <OrgTabs {...{ urls, org }} open={aside.proposals?.total} here="overview" />
        <div class="cols two">
          <TreeSide tree={tree} urls={urls} org={org.id} />
          <main id="main" class="org">
            <div class="wide">
              <Hero visit={visit} org={org} nodes={latest.total} follow={follow}>
                {home && <EditHome {...{ urls, org, home }} />}
              </Hero>
              {isNew && <JoinedNotice org={org} isEmpty={false} />}
              <BigSearch urls={urls} org={org} />
              {hasNoHome && <NoHome {...{ urls, org }} {...(blank !== undefined && { blank })} />}
              {isMember ? (
                <div class={home === undefined ? 'org-grid plain' : 'org-grid'}>
                  {home !== undefined && <HomeText {...{ urls, org, home, html }} />}
                  <Changes {...{ urls, org, groups, titles }} />
                  <OrgAside {...{ urls, org, aside, tree, map }} />
                </div>
              ) : (
                <>
                  {home !== undefined && <HomeText {...{ urls, org, home, html }} />}
                  <TopPages {...{ urls, org, tree }} without={home?.node.id} />
                </>
              )}
            </div>
          </main>
        </div>
      </>
    ),
  }
}

/** Creates the example pages. Once the organisation has pages, it changes nothing. */
export async function takeExample({ api, urls, params }: PageContext): Promise<PageResult> {
  const path = { org_id: params.org ?? '' }
  const { id } = await api.getOrg({ path })
  const { total } = await api.listNodes({ path, query: { limit: 1 } })
  if (total === 0) await createExample(api, path.org_id)
  return redirect(303, urls.org(id))
}

function emptyPage(visit: PageContext, org: Org, open: number | undefined, isNew: boolean): Page {
  const { urls } = visit
  return {
    kind: 'page',
    head: headOf(visit, org, { nodes: [], total: 0 }),
    place: { org },
    facts: { org, open },
    body: () => (
      <>
        <OrgTabs {...{ urls, org, open }} here="overview" />
        <main id="main" class="wide org">
          <Hero visit={visit} org={org} nodes={0} />
          {isNew && <JoinedNotice org={org} isEmpty />}
          <EmptyOrg urls={urls} org={org} />
        </main>
      </>
    ),
  }
}

function headOf({ urls }: PageContext, org: Org, latest: Nodes, home?: Home): Page['head'] {
  const head = { title: org.name, canonical: urls.absolute(urls.org(org.id)) }
  if (!org.published) return { ...head, noIndex: true }
  const feed = { type: 'application/atom+xml', title: `Changes in ${org.name}`, href: urls.feed(org.id) }
  const sitemap = { rel: 'sitemap', type: 'application/xml', title: 'Sitemap', href: urls.sitemap(org.id) }
  const description = org.description || (home && beginning(home.version.text)) || contentOf(org, latest)
  const image = home && pictureOf(urls, { org_id: org.id, id: home.node.id }, home.version)
  return { ...head, kind: 'website', description, ...(image && { image }), alternates: [feed, sitemap] }
}

/** Returns a description for an organisation without one. */
function contentOf({ name }: Org, { nodes, total }: Nodes): string {
  const titles = nodes.map(({ title }) => title).join(', ')
  return [`${name}: ${plural(total, 'page')}`, titles]
    .filter((part) => part !== '')
    .join(', among them ')
    .slice(0, 200)
}

/** Reads what only members see: proposals and members. */
async function readAside({ api }: PageContext, org: Org): Promise<Aside> {
  if (org.role === undefined) return {}
  const path = { org_id: org.id }
  const [proposals, members] = await Promise.all([
    api.listOrgPulls({ path, query: { group: 'change_set', limit: most.proposals } }),
    api.listMembers({ path, query: { limit: most.members } }),
  ])
  return { proposals, members }
}

/** Reads the latest changes, and groups them. After a group that goes beyond what was read, it reads again. */
async function readGroups(visit: PageContext): Promise<Group[]> {
  const path = { org_id: param(visit, 'org') }
  const groups: Group[] = []
  let before: string | undefined
  for (let round = 0; round < most.rounds && groups.length < most.groups; round++) {
    const query = { limit: most.changes, ...(before !== undefined && { before }) }
    const { changes, next } = await visit.api.listChanges({ path, query })
    const found = groupChanges(changes, next === undefined)
    const last = found.at(-1)
    const isWhole = next === undefined || groups.length + found.length > most.groups
    if (last === undefined || isWhole) return [...groups, ...found].slice(0, most.groups)
    const after = await endOf(visit, last)
    const { total = mostCounted } = await visit.api.listChanges({ path, query: { before: next, after, limit: 1 } })
    // The changes up to `next` were read.
    groups.push(...found.with(-1, { ...last, total: last.total + total, isMore: total === mostCounted }))
    before = after
  }
  return groups
}

/** The messages that are shown: those of groups of one change. */
function messagesOf(groups: readonly Group[]): string[] {
  return groups.flatMap(({ changes }) => (changes.length === 1 ? (changes[0].commit?.message ?? []) : []))
}

/** The number up to which `listChanges` counts. */
const mostCounted = 10_000
/** An id that sorts after all others. */
const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/**
 * Finds the position after which a group begins that goes beyond what was read. A group is consecutive and has a longest
 * duration, so a binary search by time needs 25 steps. None of them depends on the number of nodes.
 */
async function endOf({ api, params }: PageContext, { changes }: Group): Promise<string> {
  const path = { org_id: params.org ?? '' }
  const [latest] = changes
  const positionAt = (time: number) => `${new Date(time).toISOString()}~${lastId}`
  const oldest = changes.at(-1) ?? latest
  // Some times have whole seconds.
  const earliest = Date.parse(latest.updated_at) - longestPause
  let [low, high] = [earliest, Date.parse(oldest.updated_at) + 1_000]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    const { changes: found } = await api.listChanges({ path, query: { before: positionAt(middle), limit: 1 } })
    const [newest] = found
    const isInside = newest && isAlike(latest, newest) && Date.parse(newest.updated_at) >= earliest
    if (isInside) high = middle
    else low = middle
  }
  return positionAt(low)
}

/**
 * Reads the areas of the map, and the places of few nodes. Returns undefined for a map that is too large, or takes too
 * long: after edges change, it is laid out again.
 */
async function readMap({ api, params }: PageContext, nodes: number): Promise<SmallMapFacts | undefined> {
  if (nodes > limits.mapNodes) return undefined
  const query = nodes <= mostDots ? {} : { columns: false }
  return unlessBusy<SmallMapFacts | undefined>(api.getMap({ path: { org_id: params.org ?? '' }, query }), undefined)
}

interface HeroProps {
  readonly visit: PageContext
  readonly org: Org
  readonly nodes: number
  /** Undefined: the visitor cannot follow it. */
  readonly follow?: Follow | undefined
  /** More acts. */
  readonly children?: ComponentChildren
}

function Hero({ visit, org, nodes, follow, children }: HeroProps) {
  const { urls } = visit
  return (
    <div class="hero">
      <h1>{org.name}</h1>
      {org.description && <p class="lede">{org.description}</p>}
      <div class="meta">
        <span>
          <Icon name={org.published ? 'globe' : 'lock'} size={15} />
          {org.published ? 'Public: anyone can read it' : 'Private: only members can read it'}
        </span>
        {nodes > 0 && <span>{plural(nodes, 'page')}</span>}
        {org.role && <span>You are {aRole(org.role)}</span>}
        {follow !== undefined && <FollowButtons {...{ visit, follow }} org={org.id} style="btn small quiet" />}
        {nodes > 0 && (
          <span class="act">
            {children}
            {mayPropose(org.role) && (
              <a class="btn small" href={urls.newNode(org.id)} data-key="n">
                <Icon name="plus" size={14} />
                New page
              </a>
            )}
          </span>
        )}
      </div>
    </div>
  )
}

interface TopProps {
  readonly urls: Urls
  readonly org: Org
  readonly tree: Tree
  readonly without: string | undefined
}

/** The pages at the top, for readers of a published organisation. */
function TopPages({ urls, org, tree, without }: TopProps) {
  const pages = areasOf(tree).filter(({ id }) => id !== without)
  if (pages.length === 0) return null
  return (
    <section class="below">
      <h2>Pages</h2>
      <ul class="tiles">
        {pages.slice(0, most.tiles).map(({ id, title, num_children }) => (
          <li class="card">
            <a href={urls.node(org.id, id, title)}>
              {title}
              {num_children > 0 && <small>{plural(num_children, 'subpage')}</small>}
            </a>
          </li>
        ))}
      </ul>
      {pages.length > most.tiles && (
        <p class="more">
          <a class="btn" href={urls.table(org.id)}>
            All pages
          </a>
        </p>
      )}
    </section>
  )
}

function BigSearch({ urls, org }: { readonly urls: Urls; readonly org: Org }) {
  return (
    <search class="search big">
      <WordsForm urls={urls} org={org} />
    </search>
  )
}

interface ChangesProps {
  readonly urls: Urls
  readonly org: Org
  readonly groups: readonly Group[]
  readonly titles: Titles
}

function Changes({ urls, org, groups, titles }: ChangesProps) {
  return (
    <section class="card org-changes">
      <header>
        <h2>Recent changes</h2>
        <span class="r">
          {org.published && <a href={urls.feed(org.id)}>Feed</a>}
          <a href={urls.changes(org.id)}>All changes</a>
        </span>
      </header>
      <ChangeGroups {...{ urls, groups, titles }} org={org.id} />
    </section>
  )
}
