/** Downloading an organisation, or a page with its subpages, as a folder of Markdown. */

import type { AnswerOf } from '../../../http/in-process.ts'
import { type Page, type PageContext, param } from '../../../pages/page-context.ts'
import { plural } from '../../../pages/parts/dates.tsx'
import { countOpen, OrgTabs } from '../../../pages/parts/org-tabs.tsx'
import { mayWrite } from '../../../pages/parts/rights.ts'
import type { Urls } from '../../../pages/urls.ts'

type Org = AnswerOf<'getOrg'>
type Node = Pick<AnswerOf<'getNode'>, 'id' | 'title' | 'slug'>

export async function showExport(visit: PageContext): Promise<Page> {
  const { api, urls, query } = visit
  const path = { org_id: param(visit, 'org') }
  const under = query.get('under')
  const org = await api.getOrg({ path })
  const [{ total }, top, open] = await Promise.all([
    api.listNodes({ path, query: { limit: 1 } }),
    under === null ? undefined : api.getNode({ path: { ...path, node_id: under } }),
    countOpen(visit, org),
  ])
  const node: Node | undefined = top && { id: top.id, title: top.title, slug: top.slug }
  return {
    ...{ kind: 'page', place: { org, crumb: 'Export' }, facts: { org, total, node, open } },
    head: { title: `Export · ${node?.title ?? org.name}`, noIndex: true },
    body: () => (
      <>
        <OrgTabs {...{ urls, org, open }} here={org.role === undefined ? undefined : 'settings'} />
        <main id="main" class="page export">
          <h1>{node === undefined ? 'Export' : `Export “${node.title}”`}</h1>
          {total === 0 ? <Nothing urls={urls} org={org} /> : <Download {...{ urls, org, total, node }} />}
        </main>
      </>
    ),
  }
}

function Nothing({ urls, org }: { readonly urls: Urls; readonly org: Org }) {
  return (
    <p class="lede">
      There are no pages to export yet. <a href={urls.org(org.id)}>Back to {org.name}</a>
    </p>
  )
}

interface DownloadProps {
  readonly urls: Urls
  readonly org: Org
  readonly total: number
  readonly node: Node | undefined
}

function Download({ urls, org, total, node }: DownloadProps) {
  return (
    <>
      <p class="lede">
        {node === undefined ? `Download all ${plural(total, 'page')}` : 'Download this page and all its subpages'} as a
        folder of Markdown. Obsidian and any editor can open it, and Grove can import it again.
      </p>
      <p class="acts">
        <a class="btn go" href={urls.archive(org.id, { format: 'zip', under: node?.id })}>
          Download .zip
        </a>
        <a class="btn" href={urls.archive(org.id, { format: 'tar', under: node?.id })}>
          Download .tar
        </a>
      </p>
      {node !== undefined && (
        <p>
          <a href={urls.export(org.id)}>Export all of {org.name}</a> or go back to{' '}
          <a href={urls.node(org.id, node.id, node.slug)}>{node.title}</a>
        </p>
      )}
      <Contents urls={urls} org={org} />
      <Others urls={urls} org={org} />
    </>
  )
}

function Contents({ urls, org }: { readonly urls: Urls; readonly org: Org }) {
  return (
    <section>
      <h2>What it contains</h2>
      <ul>
        <li>Each page as a Markdown file, in the folder of the page above it</li>
        <li>Its title, tags, properties and links, as front matter</li>
        <li>Its pictures and other files, next to it</li>
      </ul>
      <p class="why">
        It does not contain earlier versions, proposals or comments. Pages that change while the download runs are
        included as they are when their turn comes. If the download fails, the file is incomplete: download it again.
      </p>
      {mayWrite(org.role) && (
        <p>
          To bring changes back, <a href={urls.import(org.id)}>import the folder or the .zip</a>.
        </p>
      )}
    </section>
  )
}

/** Cloning, which keeps the history. A private repository also needs a token, which the guide explains. */
function Others({ urls, org }: { readonly urls: Urls; readonly org: Org }) {
  return (
    <section>
      <h2>With the history</h2>
      <p>
        Each page is a Git repository.{' '}
        {org.published ? 'This command clones all of them, with every version:' : 'Clone them to keep every version.'}{' '}
        {!org.published && <a href={urls.guide('git')}>How to mirror an organisation with Git</a>}
      </p>
      {org.published && (
        <pre>
          <code>{`curl -sSf ${urls.absolute(urls.cloneUrls(org.id))} | xargs -n1 git clone -q --mirror`}</code>
        </pre>
      )}
    </section>
  )
}
