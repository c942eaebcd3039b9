/** The map of an organisation, with a list of areas and nodes as a fallback. */

import * as limits from '../../../base/limits.ts'
import type { AnswerOf } from '../../../http/in-process.ts'
import { type Area, nameOfArea, partsOf, slotsOfParts } from '../../../pages/client/areas.ts'
import { type Page, type PageContext, param } from '../../../pages/page-context.ts'
import { plural } from '../../../pages/parts/dates.tsx'
import { Icon } from '../../../pages/parts/icons.tsx'
import type { Urls } from '../../../pages/urls.ts'

/**
 * `areas`: in the list. `open`: areas that list their nodes, and `nodes`: of each. `inside`: nodes on the page of one part.
 * `found`: results.
 */
const most = { areas: 100, open: 12, nodes: 12, inside: 200, found: 20 } as const
const longestQuery = 500

type Level = AnswerOf<'listTree'>

interface Facts {
  readonly org: AnswerOf<'getOrg'>
  readonly total: number
  /** The part that the page shows; undefined: the whole organisation. */
  readonly under: { readonly id: string; readonly title: string; readonly nodes: number } | undefined
  /** The children of `under`, or the roots of a large organisation. */
  readonly inside: Level | undefined
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
  const [org, { total }] = await Promise.all([api.getOrg({ path }), api.listNodes({ path, query: { limit: 1 } })])
  const isLarge = total > limits.mapNodes
  const asked = query.get('under') || (isLarge && (await partAround(visit, query.get('focus')))) || undefined
  const words = (query.get('q') ?? '').trim().slice(0, longestQuery)
  const [under, inside, areas, found] = await Promise.all([
    asked === undefined ? undefined : readUnder(visit, asked),
    asked === undefined && !isLarge ? undefined : api.listTree({ path, query: levelOf(asked) }),
    asked === undefined && !isLarge ? readAreas(visit) : [],
    words === ''
      ? []
      : api.suggestTitles({ path, query: { q: words, limit: most.found } }).then((told) => told.suggestions),
  ])
  return page(visit, { org, total, under, inside, areas, words, found })
}

async function readUnder({ api, params: { org = '' } }: PageContext, under: string) {
  const { id, title, num_descendants } = await api.getNode({ path: { org_id: org, node_id: under } })
  return { id, title, nodes: num_descendants + 1 }
}

function levelOf(under: string | undefined) {
  return { limit: most.inside, ...(under !== undefined && { under }) }
}

/** Returns the part of a large map that shows a node. Without children, it is that of its parent. */
async function partAround(visit: PageContext, node: string | null): Promise<string | undefined> {
  if (!node) return undefined
  const path = { org_id: param(visit, 'org'), node_id: node }
  const { id, num_children, parents } = await visit.api.getNode({ path })
  return num_children > 0 ? id : (parents[0]?.id ?? id)
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
  const { org, total, under, inside, words, found } = facts
  const title = under === undefined ? org.name : under.title
  const nodes = under?.nodes ?? total
  const isDrawn = nodes <= limits.mapNodes
  return {
    ...{ kind: 'page', facts, place: { org, crumb: 'Graph' } },
    head: { title: `Graph · ${title}`, noIndex: true, ...(isDrawn && { script: 'map.js' }) },
    body: () => (
      <main
        id="main"
        class="graph"
        data-map={under?.id ?? ''}
        data-pages={nodes}
        data-part={total > limits.mapNodes ? '' : undefined}
        data-flat={isDrawn ? undefined : ''}
      >
        <div id="canvas" aria-hidden="true" />
        <section class="panel" aria-label="Pages and areas">
          <h1>{title}</h1>
          <p class="sub">
            {under === undefined ? (
              plural(total, 'page')
            ) : (
              <>
                {plural(inside?.total ?? 0, 'subpage')} · <a href={urls.graph(org.id)}>Show the whole graph</a>
              </>
            )}
          </p>
          <Highlighter urls={urls} facts={facts} />
          <p class="sub told" role="status">
            {words !== '' && plural(found.length, 'page')}
            {words === '' && !isDrawn && 'These are too many pages for one map. Choose a part.'}
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
function Listed({ urls, facts: { org, total, under, inside, areas, found } }: PartProps) {
  return (
    <div class="fold">
      {found.length > 0 && (
        <ul class="areas inside">
          {found.map(({ node_id, title: name }) => (
            <NodeItem urls={urls} org={org.id} id={node_id} title={name} />
          ))}
        </ul>
      )}
      {inside && <Inside {...{ urls, under }} org={org.id} level={inside} isAll />}
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
      {id !== undefined && inside && <Inside {...{ urls, org }} under={{ id, title }} level={inside} />}
    </li>
  )
}

interface InsideProps extends AtOrg {
  /** The node; undefined: the level is that of the roots. */
  readonly under: { readonly id: string; readonly title: string } | undefined
  readonly level: Level
  /** True if the graph page lists no more of them. */
  readonly isAll?: boolean
}

/** Lists the children of a node, or the roots. Nodes with children link to their area. */
function Inside({ urls, org, under, level, isAll = false }: InsideProps) {
  const left = level.total - level.nodes.length
  const rest = under && !isAll ? urls.graph(org, { under: under.id }) : urls.subpages(org, under?.id, under?.title)
  return (
    <ul class="inside">
      {under && <NodeItem {...{ urls, org, ...under }} label="Read this page" />}
      {level.nodes.map(({ id, title, num_children }) => (
        <NodeItem urls={urls} org={org} id={id} title={title} inside={num_children} />
      ))}
      {left > 0 && (
        <li>
          <a href={rest}>and {left.toLocaleString('en')} more</a>
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
