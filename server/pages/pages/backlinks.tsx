/** All pages that link to a page, with the sentences around their links. */

import { type Page, type PageContext, type Redirect, redirect } from '../page-context.ts'
import { BacklinkList, type Backlinks } from '../parts/backlinks.tsx'
import { plural } from '../parts/dates.tsx'
import { NodePath, readAtNode } from '../parts/node-head.tsx'
import { Pages, pageOffset } from '../parts/paging.tsx'
import { readTree, TreeSide } from '../parts/tree.tsx'

/** `pages`: texts on a page. `sentences`: of each. */
const most = { pages: 25, sentences: 20 } as const

export async function showBacklinks(visit: PageContext): Promise<Page | Redirect> {
  const { api, urls, query } = visit
  const at = await readAtNode(visit)
  const { path, org, node } = at
  const offset = pageOffset(query.get('from'))
  const [found, tree] = await Promise.all([
    api.listBacklinks({ path, query: { limit: most.pages, offset } }),
    readTree(visit, org, node),
  ])
  const base = urls.backlinks(org.id, node.id)
  if (found.backlinks.length === 0 && found.total > 0) return redirect(302, base)
  const title = `Backlinks of ${node.title}`
  return {
    kind: 'page',
    head: { title: `${title} · ${org.name}`, noIndex: true },
    place: { org, node: node.id, crumb: node.title, hasSide: true },
    facts: { org, node: { id: node.id, title: node.title, slug: node.slug }, links: node.connections, found, tree },
    body: () => (
      <div class="cols two">
        <TreeSide tree={tree} urls={urls} org={org.id} />
        <main id="main" data-cards>
          <div class="wide backlinks">
            <NodePath visit={visit} at={at} />
            <h1>{title}</h1>
            <p class="why said">{saidOf(found)}</p>
            <BacklinkList
              {...{ urls, backlinks: found, connections: node.connections }}
              org={org.id}
              sentences={most.sentences}
            />
            <Pages base={base} offset={offset} size={most.pages} total={found.total} names={['Previous', 'Next']} />
          </div>
        </main>
      </div>
    ),
  }
}

function saidOf({ backlinks, total, offset }: Backlinks): string {
  if (total === 0) return 'No other page links to this one.'
  const count = plural(total, 'backlink')
  const range = `${(offset + 1).toLocaleString('en')} to ${(offset + backlinks.length).toLocaleString('en')} of `
  return `${total > backlinks.length ? range : ''}${count}`
}
