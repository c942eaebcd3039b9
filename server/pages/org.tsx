/** One organisation: what it is about, its search, its tree, what changed in it. */

import { counted, When } from './dates.tsx'
import { Icon } from './icons.tsx'
import type { AnswerOf } from './in-process.ts'
import { areasOf, readTree, type Tree, TreeSide } from './tree.tsx'
import type { Urls } from './urls.ts'
import { type Page, param, type Visit } from './visit.ts'

type Org = AnswerOf<'getOrg'>
type Nodes = AnswerOf<'listNodes'>['nodes']

/** Nodes that changed last. */
const mostChanges = 8

export async function showOrg(visit: Visit): Promise<Page> {
  const { api, urls } = visit
  const path = { org_id: param(visit, 'org') }
  const org = await api.getOrg({ path })
  const [changed, tree] = await Promise.all([
    api.listNodes({ path, query: { order: 'changed', limit: mostChanges } }),
    readTree(api, org.id),
  ])
  const canonical = urls.absolute(urls.org(org.id))
  const feed = { type: 'application/atom+xml', title: `Changes of ${org.name}`, href: urls.feed(org.id) }
  const about = org.description === '' ? {} : { description: org.description }
  const open = org.published ? ({ kind: 'website', ...about, alternates: [feed] } as const) : { noIndex: true }
  return {
    kind: 'page',
    head: { title: org.name, canonical, ...open },
    place: { org, hasSide: true },
    facts: { org, changed, tree },
    body: () => (
      <div class="cols two">
        <TreeSide tree={tree} urls={urls} org={org.id} />
        <main id="main" class="org">
          <div class="wide">
            <Hero org={org} nodes={changed.total} urls={urls} />
            <BigSearch urls={urls} org={org} words="" />
            <div class="grid2">
              <Changes urls={urls} org={org} nodes={changed.nodes} />
              <Areas urls={urls} org={org} tree={tree} />
            </div>
          </div>
        </main>
      </div>
    ),
  }
}

function Hero({ org, nodes, urls }: { readonly org: Org; readonly nodes: number; readonly urls: Urls }) {
  return (
    <div class="hero">
      <h1>{org.name}</h1>
      {org.description && <p class="lede">{org.description}</p>}
      <div class="meta">
        <span>
          <Icon name={org.published ? 'globe' : 'lock'} size={15} />
          {org.published ? 'Published, anyone may read' : 'For its members'}
        </span>
        <span>{counted(nodes, 'node')}</span>
        {org.role && <span>Your role: {org.role}</span>}
        {org.role && <a href={urls.settings(org.id, 'general')}>Settings</a>}
        {org.role && <a href={urls.settings(org.id, 'members')}>Members</a>}
      </div>
    </div>
  )
}

export function BigSearch({ urls, org, words }: { readonly urls: Urls; readonly org: Org; readonly words: string }) {
  return (
    <search class="search big">
      <form class="bigfind" action={urls.find(org.id)} data-search>
        <Icon name="search" size={20} />
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
        <h2>What changed</h2>
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

/** The roots with children, largest first. */
function Areas({ urls, org, tree }: { readonly urls: Urls; readonly org: Org; readonly tree: Tree }) {
  const areas = areasOf(tree)
    .filter(({ num_children }) => num_children > 0)
    .sort((a, b) => b.num_children - a.num_children)
  if (areas.length === 0) return null
  return (
    <section class="card">
      <header>
        <h2>Areas</h2>
        <span class="r">{areas.length}</span>
      </header>
      <ul class="areas">
        {areas.slice(0, 24).map(({ id, title, num_children }, at) => (
          <li>
            <a href={urls.node(org.id, id)}>
              <span class="dot" data-c={at % 12} />
              <span>{title}</span>
              <span class="n">{num_children}</span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  )
}
