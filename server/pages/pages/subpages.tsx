/** A paged list of a node's children, or of the nodes without a parent. */

import { type Page, type PageContext, param } from '../page-context.ts'
import { plural } from '../parts/dates.tsx'
import { FilterForm } from '../parts/filter-form.tsx'
import { Icon } from '../parts/icons.tsx'
import { NodePath } from '../parts/node-head.tsx'
import { pageOffset } from '../parts/paging.tsx'
import { mayPropose } from '../parts/rights.ts'
import { readTree, TreeSide } from '../parts/tree.tsx'

/** Maximum subpages on a page. */
const pageSize = 100
const longestFilter = 200

export async function showSubpages(visit: PageContext): Promise<Page> {
  const { api, urls, query, params } = visit
  const path = { org_id: param(visit, 'org') }
  const q = (query.get('filter') ?? '').trim().slice(0, longestFilter)
  const offset = pageOffset(query.get('from'))
  const org = await api.getOrg({ path })
  const node = params.node === undefined ? undefined : await api.getNode({ path: { ...path, node_id: params.node } })
  const asked = { limit: pageSize, offset, ...(node && { under: node.id }), ...(q !== '' && { q }) }
  const [level, tree] = await Promise.all([api.listTree({ path, query: asked }), readTree(visit, org, node)])
  const title = node ? `Subpages of ${node.title}` : `Pages at the top of ${org.name}`
  const base = urls.subpages(org.id, node?.id)
  const end = offset + level.nodes.length
  return {
    kind: 'page',
    head: { title: node ? `${title} · ${org.name}` : title, noIndex: true },
    place: { org, ...(node && { node: node.id, crumb: node.title }), hasSide: true },
    facts: { org, node: node && { id: node.id, title: node.title, slug: node.slug }, level, tree, q },
    body: () => (
      <div class="cols two">
        <TreeSide tree={tree} urls={urls} org={org.id} />
        <main id="main">
          <div class="wide subpages">
            {node && <NodePath visit={visit} at={{ org, node, path: { ...path, node_id: node.id } }} />}
            <h1>{title}</h1>
            <FilterForm action={base} label="Filter by title" words={q} maxLength={longestFilter}>
              {mayPropose(org.role) && q === '' && (
                <a class="btn new" href={urls.newNode(org.id, node ? { parent: node.id } : {})}>
                  <Icon name="plus" size={14} />
                  {node ? 'New subpage' : 'New page'}
                </a>
              )}
            </FilterForm>
            <p class="why said" role="status">
              {saidOf(level.total, q, offset, end)}
            </p>
            <ul class="level">
              {level.nodes.map(({ id, title, num_children }) => (
                <li key={id}>
                  <a class="t" href={urls.node(org.id, id, title)}>
                    {title}
                  </a>
                  {num_children > 0 && (
                    <a
                      class="n"
                      href={urls.subpages(org.id, id, title)}
                      aria-label={`${plural(num_children, 'subpage')} of ${title}`}
                    >
                      {num_children.toLocaleString('en')}
                      <Icon name="right" size={12} />
                    </a>
                  )}
                </li>
              ))}
            </ul>
            <Turn base={base} q={q} offset={offset} total={level.total} />
          </div>
        </main>
      </div>
    ),
  }
}

function saidOf(total: number, q: string, offset: number, end: number): string {
  const matching = q === '' ? '' : ` with “${q}” in the title`
  if (total === 0) return q === '' ? 'There are no pages here yet.' : `No page here has “${q}” in its title.`
  const pages = `${plural(total, 'page')}${matching}`
  return total > end - offset && end > offset
    ? `${(offset + 1).toLocaleString('en')} to ${end.toLocaleString('en')} of ${pages}`
    : pages
}

interface TurnProps {
  readonly base: string
  readonly q: string
  readonly offset: number
  readonly total: number
}

/** Links to the previous and the next page. */
function Turn({ base, q, offset, total }: TurnProps) {
  if (total <= pageSize && offset === 0) return null
  const link = (from: number, text: string, rel: 'prev' | 'next') => {
    const query = new URLSearchParams({ ...(q !== '' && { filter: q }), ...(from > 0 && { from: String(from) }) })
    return (
      <a class="btn" rel={rel} href={query.size > 0 ? `${base}?${query}` : base}>
        {text}
      </a>
    )
  }
  return (
    <nav class="acts" aria-label="Pages of the list">
      {offset > 0 && link(Math.max(0, Math.min(offset, total) - pageSize), 'Previous', 'prev')}
      {offset + pageSize < total && link(offset + pageSize, 'Next', 'next')}
    </nav>
  )
}
