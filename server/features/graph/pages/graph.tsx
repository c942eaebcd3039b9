/** The map of an organisation, with a list of areas and nodes as a fallback. */

import type { AnswerOf } from '../../../http/in-process.ts'
import { type Area, nameOfArea, partsOf, slotsOfParts } from '../../../pages/client/areas.ts'
import { type Page, type PageContext, param } from '../../../pages/page-context.ts'
import { plural } from '../../../pages/parts/dates.tsx'
import { Icon } from '../../../pages/parts/icons.tsx'
import type { Urls } from '../../../pages/urls.ts'

/**
 * `areas`: in the list. `open`: areas that list their nodes, and `nodes`: of each. `inside`: nodes on the page of one area.
 * `found`: results.
 */
const most = { areas: 100, open: 12, nodes: 12, inside: 200, found: 20 } as const
const longestQuery = 500

type Level = AnswerOf<'listTree'>

interface Facts {
  readonly org: AnswerOf<'getOrg'>
  readonly total: number
  /** The area that the page shows; undefined: the whole organisation. */
  readonly under: { readonly id: string; readonly title: string; readonly inside: Level } | undefined
  readonly areas: readonly ListedArea[]
  readonly words: string
  readonly found: readonly { readonly node_id: string; readonly title: string }[]
}

interface ListedArea {
  readonly area: Area
  readonly title: string
  /** Its colour; undefined: grey. */
  readonly slot: number | undefined
  readonly inside: Level | undefined
}

export async function showGraph(visit: PageContext): Promise<Page> {
  const { api, query } = visit
  const path = { org_id: param(visit, 'org') }
  const org = await api.getOrg({ path })
  const asked = query.get('under') || undefined
  const words = (query.get('q') ?? '').trim().slice(0, longestQuery)
  const [{ total }, under, areas, found] = await Promise.all([
    api.listNodes({ path, query: { limit: 1 } }),
    asked === undefined ? undefined : readUnder(visit, asked),
    asked === undefined ? readAreas(visit) : [],
    words === ''
      ? []
      : api.suggestTitles({ path, query: { q: words, limit: most.found } }).then((told) => told.suggestions),
  ])
  return page(visit, { org, total, under, areas, words, found })
}

async function readUnder(visit: PageContext, under: string): Promise<NonNullable<Facts['under']>> {
  const path = { org_id: param(visit, 'org') }
  const { id, title } = await visit.api.getNode({ path: { ...path, node_id: under } })
  return { id, title, inside: await visit.api.listTree({ path, query: { under: id, limit: most.inside } }) }
}

async function readAreas({ api, params: { org = '' } }: PageContext): Promise<ListedArea[]> {
  const path = { org_id: org }
  const { areas } = await api.getMap({ path, query: { columns: false } })
  const parts = partsOf(areas)
  const slots = slotsOfParts(areas, parts)
  const shown = parts.flatMap((at) => areas[at] ?? []).slice(0, most.areas)
  return Promise.all(
    shown.map(async (area, at) => {
      const { node_id: under } = area
      const slot = slots[at]
      const title = nameOfArea(area, areas)
      if (at >= most.open || under === undefined) return { area, title, slot, inside: undefined }
      return { area, title, slot, inside: await api.listTree({ path, query: { under, limit: most.nodes } }) }
    }),
  )
}

function page({ urls }: PageContext, facts: Facts): Page {
  const { org, total, under, words, found } = facts
  const title = under === undefined ? org.name : under.title
  return {
    ...{ kind: 'page', facts, place: { org, crumb: 'Graph' } },
    head: { title: `Graph · ${title}`, noIndex: true, script: 'map.js' },
    body: () => (
      <main id="main" class="graph" data-map={under?.id ?? ''} data-pages={total}>
        <div id="canvas" aria-hidden="true" />
        <section class="panel" aria-label="Pages and areas">
          <h1>{title}</h1>
          <p class="sub">
            {under === undefined ? (
              plural(total, 'page')
            ) : (
              <>
                {plural(under.inside.total, 'subpage')} · <a href={urls.graph(org.id)}>Show the whole graph</a>
              </>
            )}
          </p>
          <Highlighter urls={urls} facts={facts} />
          <p class="sub told" role="status">
            {words !== '' && plural(found.length, 'page')}
          </p>
          <div class="links" hidden>
            <label>
              <input type="checkbox" />
              Links
            </label>
            <fieldset hidden>
              <legend class="vh">Types of links</legend>
            </fieldset>
          </div>
          <Listed urls={urls} facts={facts} />
        </section>
        <section class="peek" id="peek" aria-label="Selected page" aria-live="polite" hidden />
      </main>
    ),
  }
}

interface PartProps {
  readonly urls: Urls
  readonly facts: Facts
}

/** The form whose words highlight pages. */
function Highlighter({ urls, facts: { org, under, words } }: PartProps) {
  return (
    <form action={urls.graph(org.id)}>
      {under && <input type="hidden" name="under" value={under.id} />}
      <label class="vh" for="mq">
        Highlight pages
      </label>
      <input id="mq" type="search" name="q" value={words} placeholder="Highlight pages" maxLength={longestQuery} />
      <button class="btn small without-script" type="submit">
        Highlight
      </button>
    </form>
  )
}

/** The pages found, the children of the page at the centre, and the areas. */
function Listed({ urls, facts: { org, total, under, areas, found } }: PartProps) {
  return (
    <div class="fold">
      {found.length > 0 && (
        <ul class="areas inside">
          {found.map(({ node_id, title: name }) => (
            <NodeItem urls={urls} org={org.id} id={node_id} title={name} />
          ))}
        </ul>
      )}
      {under && <Inside urls={urls} org={org.id} under={under.id} title={under.title} level={under.inside} />}
      {areas.length > 0 && <h2>Areas</h2>}
      <ul class="areas">
        {areas.map((one) => (
          <AreaItem {...{ urls, ...one }} key={one.area.node_id} org={org.id} />
        ))}
      </ul>
      {total === 0 && <p class="sub">There are no pages yet.</p>}
    </div>
  )
}

interface AtOrg {
  readonly urls: Urls
  readonly org: string
}

function AreaItem({ urls, org, area, title, slot, inside }: AtOrg & ListedArea) {
  const { node_id: id, nodes } = area
  const label = (
    <>
      <span class="dot" data-c={slot} />
      <span>{title}</span>
      <span class="n">{nodes.toLocaleString('en')}</span>
    </>
  )
  return (
    <li>
      <a href={id === undefined ? urls.org(org) : urls.graph(org, { under: id })} data-area={id ?? ''}>
        {label}
      </a>
      {id !== undefined && inside && <Inside {...{ urls, org, title }} under={id} level={inside} />}
    </li>
  )
}

interface InsideProps extends AtOrg {
  /** The id of the node. */
  readonly under: string
  readonly title: string
  readonly level: Level
}

/** Lists the children of a node. Children with their own children link to their area. */
function Inside({ urls, org, under, title: area, level }: InsideProps) {
  const left = level.total - level.nodes.length
  return (
    <ul class="inside">
      <NodeItem urls={urls} org={org} id={under} title={area} label="Read this page" />
      {level.nodes.map(({ id, title, num_children }) => (
        <NodeItem urls={urls} org={org} id={id} title={title} inside={num_children} />
      ))}
      {left > 0 && (
        <li>
          <a href={urls.graph(org, { under })}>and {left.toLocaleString('en')} more</a>
        </li>
      )}
    </ul>
  )
}

interface NodeItemProps extends AtOrg {
  readonly id: string
  readonly title: string
  /** The words of the link. Default: the title. */
  readonly label?: string
  /** The number of the node's children. */
  readonly inside?: number
}

function NodeItem({ urls, org, id, title, label = title, inside = 0 }: NodeItemProps) {
  return (
    <li>
      <a href={urls.node(org, id, title)} data-node={id}>
        {label}
      </a>
      {inside > 0 && (
        <a class="n" href={urls.graph(org, { under: id })} aria-label={`${plural(inside, 'page')} in ${title}`}>
          {inside}
          <Icon name="right" size={12} />
        </a>
      )}
    </li>
  )
}
