/** One organisation: description, search, tree, recent changes and small map. */

import type { AnswerOf } from '../../http/in-process.ts'
import { type Area, slots } from '../client/areas.ts'
import { type Page, type PageContext, param } from '../page-context.ts'
import { plural, When } from '../parts/dates.tsx'
import { unlessBusy } from '../parts/degraded.ts'
import { Icon } from '../parts/icons.tsx'
import { mayWrite } from '../parts/rights.ts'
import { SmallMap } from '../parts/small-map.tsx'
import { areasOf, readTree, type Tree, TreeSide } from '../parts/tree.tsx'
import type { Urls } from '../urls.ts'

type Org = AnswerOf<'getOrg'>
type Nodes = AnswerOf<'listNodes'>['nodes']

/** Maximum recent changes. */
const mostChanges = 8

export async function showOrg(visit: PageContext): Promise<Page> {
  const { api, urls } = visit
  const path = { org_id: param(visit, 'org') }
  const org = await api.getOrg({ path })
  const [changed, tree, map, open] = await Promise.all([
    api.listNodes({ path, query: { order: 'changed', limit: mostChanges } }),
    readTree(api, org.id),
    readMap(visit),
    countOpen(visit, org),
  ])
  const canonical = urls.absolute(urls.org(org.id))
  const feed = { type: 'application/atom+xml', title: `Changes in ${org.name}`, href: urls.feed(org.id) }
  const description = org.description || contentOf(org, changed)
  const shared = org.published ? ({ kind: 'website', description, alternates: [feed] } as const) : { noIndex: true }
  return {
    kind: 'page',
    head: { title: org.name, canonical, ...shared },
    place: { org, hasSide: true },
    facts: { org, changed, tree, map, open },
    body: () => (
      <div class="cols two">
        <TreeSide tree={tree} urls={urls} org={org.id} />
        <main id="main" class="org">
          <div class="wide">
            <Hero urls={urls} org={org} nodes={changed.total} open={open} />
            <BigSearch urls={urls} org={org} words="" />
            <div class="grid2">
              <Changes urls={urls} org={org} nodes={changed.nodes} />
              <Graph urls={urls} org={org} tree={tree} areas={map} />
            </div>
          </div>
        </main>
      </div>
    ),
  }
}

/** Returns a description for an organisation without one. */
function contentOf({ name }: Org, { nodes, total }: AnswerOf<'listNodes'>): string {
  const titles = nodes.map(({ title }) => title).join(', ')
  return [`${name}: ${plural(total, 'node')}`, titles]
    .filter((part) => part !== '')
    .join(', among them ')
    .slice(0, 200)
}

/** Reads the areas of the map; none if that takes too long. After edges change, the map is laid out again. */
async function readMap(visit: PageContext): Promise<readonly Area[]> {
  const path = { org_id: param(visit, 'org') }
  const map = visit.api.getMap({ path, query: { columns: false } })
  return unlessBusy<readonly Area[]>(
    map.then(({ areas }) => areas),
    [],
  )
}

/** Counts the open proposals; undefined for visitors who may not see them. */
async function countOpen({ api }: PageContext, org: Org): Promise<number | undefined> {
  if (org.role === undefined) return undefined
  return (await api.listOrgPulls({ path: { org_id: org.id }, query: { limit: 1 } })).total
}

interface HeroProps {
  readonly urls: Urls
  readonly org: Org
  readonly nodes: number
  /** The number of open proposals. */
  readonly open: number | undefined
}

function Hero({ urls, org, nodes, open }: HeroProps) {
  return (
    <div class="hero">
      <h1>{org.name}</h1>
      {org.description && <p class="lede">{org.description}</p>}
      <div class="meta">
        <span>
          <Icon name={org.published ? 'globe' : 'lock'} size={15} />
          {org.published ? 'Published: anyone can read' : 'Members only'}
        </span>
        <span>{plural(nodes, 'node')}</span>
        {open !== undefined && (
          <a href={urls.orgProposals(org.id)}>{open > 0 ? plural(open, 'open proposal') : 'Proposals'}</a>
        )}
        {org.role && <span>Your role: {org.role}</span>}
        {org.role && <a href={urls.settings(org.id, 'general')}>Settings</a>}
        {org.role && <a href={urls.settings(org.id, 'members')}>Members</a>}
        {mayWrite(org.role) && (
          <span class="act">
            <a class="btn small" href={urls.newNode(org.id)} data-key="n">
              <Icon name="plus" size={14} />
              New node
            </a>
          </span>
        )}
      </div>
    </div>
  )
}

export function BigSearch({ urls, org, words }: { readonly urls: Urls; readonly org: Org; readonly words: string }) {
  return (
    <search class="search big">
      <form class="bigfind" action={urls.find(org.id)} data-search>
        <button type="submit" aria-label="Search">
          <Icon name="search" size={20} />
        </button>
        <label class="vh" for="q">
          Search {org.name}
        </label>
        <input
          id="q"
          type="search"
          name="q"
          value={words}
          placeholder="Search titles and texts"
          autocomplete="off"
          maxLength={1000}
        />
      </form>
    </search>
  )
}

function Changes({ urls, org, nodes }: { readonly urls: Urls; readonly org: Org; readonly nodes: Nodes }) {
  return (
    <section class="card">
      <header>
        <h2>Recent changes</h2>
        {org.published && (
          <span class="r">
            <a href={urls.feed(org.id)}>Feed</a>
          </span>
        )}
      </header>
      {nodes.length === 0 && <p class="empty">There are no nodes yet.</p>}
      <ul class="feed plain">
        {nodes.map(({ id, title, tags, updated_at, created_at }) => (
          <li>
            <a href={urls.node(org.id, id)}>
              <strong>{title}</strong>
            </a>
            <When time={updated_at} />
            <small>{[updated_at === created_at ? 'new' : 'changed', ...tags.slice(0, 4)].join(' · ')}</small>
          </li>
        ))}
      </ul>
    </section>
  )
}

interface GraphProps {
  readonly urls: Urls
  readonly org: Org
  readonly tree: Tree
  readonly areas: readonly Area[]
}

/** Shows the small map; without areas, the roots with children, largest first. */
function Graph({ urls, org, tree, areas }: GraphProps) {
  const roots = areasOf(tree)
    .filter(({ num_children }) => num_children > 0)
    .sort((a, b) => b.num_children - a.num_children)
  if (areas.length + roots.length === 0) return null
  return (
    <section class="card">
      <header>
        <h2>Graph</h2>
        <span class="r">
          <a href={urls.graph(org.id)}>Open</a>
        </span>
      </header>
      {areas.length > 0 && <SmallMap urls={urls} org={org.id} areas={areas} />}
      {areas.length === 0 && (
        <ul class="areas">
          {roots.slice(0, 24).map(({ id, title, num_children }, at) => (
            <li>
              <a href={urls.node(org.id, id)}>
                <span class="dot" data-c={at % slots} />
                <span>{title}</span>
                <span class="n">{num_children}</span>
              </a>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}
