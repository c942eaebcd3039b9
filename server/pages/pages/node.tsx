/** One node: text, path and neighbours. `?at=` selects a branch, tag or commit. */

import { createHash } from 'node:crypto'
import type { ComponentChildren, VNode } from 'preact'
import type { Api } from '../../../spec/client/api.ts'
import * as limits from '../../base/limits.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { type Page, type PageContext, type PageResult, param } from '../page-context.ts'
import { BacklinkSection, readBacklinks } from '../parts/backlinks.tsx'
import { plural, When } from '../parts/dates.tsx'
import { readFollow } from '../parts/follow-button.tsx'
import { Icon } from '../parts/icons.tsx'
import { neighboursOf } from '../parts/neighbours.tsx'
import { fieldsUrl, NodeFields } from '../parts/node-fields.tsx'
import type { AtNode } from '../parts/node-head.tsx'
import { findOpenPull, type Pull } from '../parts/open-pulls.ts'
import { PageMenu } from '../parts/page-menu.tsx'
import { PropertyList } from '../parts/property-list.tsx'
import { Prose } from '../parts/prose.tsx'
import { Rail } from '../parts/rail.tsx'
import { findOnMain } from '../parts/restore-link.tsx'
import { isEditable, mayEdit, mayPropose, mayWrite } from '../parts/rights.ts'
import { readTree, TreeSide } from '../parts/tree.tsx'
import { readTypedNode } from '../parts/typed-node.ts'
import { beginning, pictureOf } from '../text/beginning.ts'
import { resolver } from '../text/links.ts'
import { type ShownText, showText } from '../text/texts.ts'
import type { Urls } from '../urls.ts'
import { findEmbeds, showEmbeds } from './embedding.ts'
import { deletedPage } from './missing.tsx'
import { readVersion } from './version.ts'

type Node = AnswerOf<'getNode'>
type Org = AnswerOf<'getOrg'>

interface NodePath {
  readonly org_id: string
  readonly node_id: string
}

/** Maximum tags and children shown. */
const mostTags = 6
const mostChildren = 100
const mostTiles = 24

export function showNode(visit: PageContext): Promise<PageResult> {
  return nodePage(visit).catch((error: unknown) => deletedPage(visit, error))
}

async function nodePage(visit: PageContext): Promise<PageResult> {
  const read = await readNode(visit)
  const { node, org, revision, tree } = read
  const { text_content: _, ...rest } = node
  let shown = notShown
  return {
    kind: 'page',
    head: headOf(visit, read),
    place: { org, node: node.id, ...(tree.path[0] && { crumb: tree.path[0].title }), hasSide: true },
    facts: { ...read, node: rest },
    prepare: async () => {
      shown = await shownOf(visit, read)
    },
    body: () => (
      <div class="cols">
        <TreeSide tree={tree} urls={visit.urls} org={org.id} />
        <main id="main" data-cards>
          <Article visit={visit} read={read} html={shown.html} />
        </main>
        <Rail
          visit={visit}
          node={node}
          neighbours={neighboursOf(node.id, node.connections)}
          headings={shown.headings}
          backlinks={read.backlinks?.total}
          files={read.version.files}
          revision={revision}
          textPath={read.version.textPath}
        />
      </div>
    ),
  }
}

/** All that the page shows, before its text is rendered. */
type Read = Awaited<ReturnType<typeof readNode>>

async function readNode(visit: PageContext) {
  const { api, query } = visit
  const path = { org_id: param(visit, 'org'), node_id: param(visit, 'node') }
  const node = await api.getNode({ path })
  const revision = query.get('at') || 'main'
  const org = await api.getOrg({ path })
  const [version, history, proposals, tree, backlinks, proposed, follow, typed] = await Promise.all([
    readVersion(api, path, node, revision),
    node.head === undefined
      ? { total: 0, history: [] }
      : api.listCommits({ path: { ...path, branch: revision }, query: { limit: 1 } }),
    org.role === undefined ? { open: 0, all: 0 } : countProposals(api, path),
    readTree(visit, org, node),
    revision === 'main' ? readBacklinks(api, path) : undefined,
    org.role === undefined || !isBranch(revision) ? undefined : findOpenPull(api, path, revision),
    revision === 'main' ? readFollow(visit, org, node.id) : undefined,
    revision === 'main' ? readTypedNode(api, node) : undefined,
  ])
  const restorable = await restorableAt(api, { path, org, node }, revision, history.history[0]?.id)
  const embeds = await findEmbeds(api, path, version.links)
  return {
    node,
    org,
    revision,
    version,
    history,
    proposals,
    tree,
    backlinks,
    proposed,
    restorable,
    embeds,
    follow,
    typed,
  }
}

interface ArticleProps {
  readonly visit: PageContext
  readonly read: Read
  /** The rendered text. */
  readonly html: string
}

function Article({ visit, read, html }: ArticleProps) {
  const { urls } = visit
  const { node, org, revision, version, history, tree, restorable } = read
  const isMain = revision === 'main'
  const latest = history.history[0]
  const isTooLong = node.text_content.length > limits.pageText
  return (
    <article class="page">
      <Above visit={visit} org={org} path={tree.path} />
      <div class="titled">
        <h1 dir="auto" data-recent={isMain ? node.id : undefined}>
          {version.title}
        </h1>
        <Acts
          {...{ urls, node, isMain }}
          may={{
            edit: mayEdit(org.role, node.head) && !isTooLong,
            write: mayWrite(org.role),
            propose: mayPropose(org.role),
          }}
          menu={
            <PageMenu
              {...{ visit, node, revision }}
              role={org.role}
              opensEditor={!isTooLong}
              textPath={version.textPath}
              follow={read.follow}
            />
          }
        />
      </div>
      {description(node) && <p class="lede">{description(node)}</p>}
      <Meta
        visit={visit}
        node={node}
        revision={revision}
        commits={history.total}
        latest={latest}
        time={isMain ? node.updated_at : latest?.created_at}
        proposals={read.proposals}
      />
      <Tags {...{ urls, node }} />
      {isMain && read.typed === undefined && <PropertyList {...{ urls, node }} />}
      {read.typed && (
        <NodeFields {...{ urls, node }} typed={read.typed} seesProblems={org.role !== undefined}>
          {mayEdit(org.role, node.head) && <a href={fieldsUrl(urls, org.id, node.id)}>Edit fields</a>}
        </NodeFields>
      )}
      {!isMain && (
        <AsItWas visit={visit} node={node} revision={revision} restorable={restorable}>
          {read.proposed && <AsProposed visit={visit} org={org} pull={read.proposed} />}
        </AsItWas>
      )}
      <Prose urls={urls} html={html} />
      {version.wholeText !== undefined && (
        <p class="why">
          This text is too long to show in full:{' '}
          <a href={urls.raw(org.id, node.id, revision, version.wholeText)}>read the whole text</a>
        </p>
      )}
      {isMain && isTooLong && mayEdit(org.role, node.head) && (
        <p class="why">
          This text has more than {limits.pageText.toLocaleString('en')} characters, too many to edit here. Edit it in a
          clone.
        </p>
      )}
      {version.text.trim() === '' && (
        <NoText visit={visit} node={node} mayWriteIt={isMain && mayEdit(org.role, node.head)} />
      )}
      <Below visit={visit} node={node} hasText={version.text.trim() !== ''} />
      <BacklinkSection
        {...{ urls, backlinks: read.backlinks, connections: node.connections }}
        org={org.id}
        node={node.id}
      />
    </article>
  )
}

/** Returns the commit that is shown, if the visitor may restore it on main. */
async function restorableAt(
  api: Api,
  at: AtNode,
  revision: string,
  shown: string | undefined,
): Promise<string | undefined> {
  if (revision === 'main' || shown === undefined || shown === at.node.head || !mayWrite(at.org.role)) return undefined
  return (await findOnMain(api, at, shown))?.id
}

interface Proposals {
  readonly open: number
  /** Open, merged and closed ones. */
  readonly all: number
}

/** An offset at which a list has only its total. A pull request takes much longer to read. */
const beyondAll = 1_000_000_000

async function countProposals(api: Api, path: NodePath): Promise<Proposals> {
  const count = async (status: 'open' | 'all') =>
    (await api.listPulls({ path, query: { status, limit: 1, offset: beyondAll } })).total
  const all = await count('all')
  return { all, open: all === 0 ? 0 : await count('open') }
}

const notShown: ShownText = { html: '', headings: [], summary: '' }

async function shownOf(
  { api, urls, turn }: PageContext,
  { org, node, revision, version, embeds }: Read,
): Promise<ShownText> {
  const { text, links, title } = version
  const cards = await showEmbeds({ api, urls, org: org.id, signal: turn.signal }, embeds)
  const place = { org: org.id, node: node.id, revision, isEditable: revision === 'main' && mayPropose(org.role) }
  const key = createHash('sha256')
    .update(JSON.stringify([urls.org(org.id), place, title, text, links, ...cards]))
    .digest('base64')
  return showText({ key, text, title, resolve: resolver(urls, { ...place, cards }, links) }, turn.signal)
}

function description({ properties }: Node): string | undefined {
  const { description: said } = properties
  return typeof said === 'string' && said.trim() !== '' ? said : undefined
}

function headOf({ urls }: PageContext, { node, org, revision, version }: Read): Page['head'] {
  const canonical = urls.absolute(urls.node(org.id, node.id, node.title))
  const { text, textPath } = version
  const title = `${node.title} · ${org.name}`
  const said = description(node) ?? beginning(text)
  const feed = { type: 'application/atom+xml', title: `Changes in ${org.name}`, href: urls.feed(org.id) }
  const raw = (file: string) => urls.raw(org.id, node.id, revision, file)
  const source = textPath ? [{ type: 'text/markdown', title: 'Markdown file', href: raw(textPath) }] : []
  const head = { title, canonical, alternates: [...(org.published ? [feed] : []), ...source] }
  if (!org.published || revision !== 'main') return { ...head, noIndex: true }
  const data = {
    '@context': 'https://schema.org',
    '@type': 'Article',
    headline: node.title.slice(0, 110),
    datePublished: node.created_at,
    dateModified: node.updated_at,
    url: canonical,
    isPartOf: { '@type': 'CreativeWork', name: org.name, url: urls.absolute(urls.org(org.id)) },
    ...(said === '' ? {} : { description: said }),
  }
  const image = pictureOf(urls, node, version)
  return { ...head, kind: 'article', data, ...(said !== '' && { description: said }), ...(image && { image }) }
}

function Above({
  visit: { urls },
  org,
  path,
}: {
  visit: PageContext
  org: Org
  path: readonly { id: string; title: string }[]
}) {
  return (
    <nav class="path" aria-label="Path to this page">
      <a href={urls.org(org.id)}>{org.name}</a>
      {path.map(({ id, title }) => (
        <>
          <span aria-hidden="true">›</span>
          <a href={urls.node(org.id, id, title)}>{title}</a>
        </>
      ))}
    </nav>
  )
}

interface MetaProps {
  readonly visit: PageContext
  readonly node: Node
  readonly revision: string
  readonly commits: number
  readonly latest: AnswerOf<'listCommits'>['history'][number] | undefined
  /** The time of the last change. */
  readonly time: string | undefined
  readonly proposals: Proposals
}

function Meta({ visit: { urls }, node, revision, commits, latest, time, proposals }: MetaProps) {
  const { org_id, id } = node
  const { open, all } = proposals
  return (
    <div class="meta">
      {latest && time && (
        <a href={urls.history(org_id, id, revision)} data-key="h" data-key-name="History">
          <span>
            {latest.author} edited this <When time={time} as="on" />
          </span>
        </a>
      )}
      {commits > 1 && <a href={urls.history(org_id, id, revision)}>{plural(commits, 'version')}</a>}
      {all > 0 && (
        <a href={`${urls.proposals(org_id, id)}${open > 0 ? '' : '?status=all'}`}>
          {open > 0 ? plural(open, 'open proposal') : plural(all, 'proposal')}
        </a>
      )}
      {commits > 0 && <a href={urls.blame(org_id, id, revision)}>Authors</a>}
    </div>
  )
}

function Tags({ urls, node: { org_id, tags } }: { readonly urls: Urls; readonly node: Node }) {
  if (tags.length === 0) return null
  return (
    <div class="page-tags">
      {tags.slice(0, mostTags).map((tag) => (
        <a class="tag" href={urls.tags(org_id, tag)}>
          {tag}
        </a>
      ))}
    </div>
  )
}

interface ActsProps {
  readonly urls: Urls
  readonly node: Node
  readonly isMain: boolean
  readonly may: { readonly edit: boolean; readonly write: boolean; readonly propose: boolean }
  readonly menu: VNode
}

/** The buttons next to the title. */
function Acts({ urls, node: { org_id, id }, isMain, may, menu }: ActsProps) {
  return (
    <div class="act">
      {isMain && may.propose && (
        <a class="btn small" href={urls.newNode(org_id, { parent: id })}>
          New subpage
        </a>
      )}
      {isMain && may.edit && (
        <a class="btn small" href={urls.edit(org_id, id)} data-key="e">
          <Icon name="pen" size={14} />
          {may.write ? 'Edit' : 'Propose a change'}
        </a>
      )}
      {menu}
    </div>
  )
}

interface AsItWasProps {
  readonly visit: PageContext
  readonly node: Node
  readonly revision: string
  /** The commit, if the visitor may restore it. */
  readonly restorable: string | undefined
  readonly children: ComponentChildren
}

/** True if the revision may be the branch of a proposal. */
function isBranch(revision: string): boolean {
  return revision !== 'main' && !isCommitId(revision)
}

function isCommitId(revision: string): boolean {
  return /^[0-9a-f]{40}$/.test(revision)
}

function AsItWas({ visit: { urls }, node, revision, restorable, children }: AsItWasProps) {
  const isCommit = isCommitId(revision)
  return (
    <p class="notice">
      {isCommit ? 'You are viewing commit ' : 'You are viewing '}
      <span class="ref">{isCommit ? revision.slice(0, 8) : revision}</span>.{' '}
      <a href={urls.node(node.org_id, node.id)}>View main</a>
      {node.head !== undefined && (
        <>
          {', '}
          <a href={urls.compare(node.org_id, node.id, revision)}>compare with the current version</a>
        </>
      )}
      {restorable !== undefined && (
        <>
          {' or '}
          <a href={urls.restore(node.org_id, node.id, restorable)}>restore this version</a>
        </>
      )}
      {children}
    </p>
  )
}

interface AsProposedProps {
  readonly visit: PageContext
  readonly org: Org
  readonly pull: Pull
}

/** Leads from the text of a proposal to the proposal and its editor. */
function AsProposed({ visit: { urls, person }, org, pull }: AsProposedProps) {
  const { node_id, number, source_branch } = pull
  return (
    <>
      {'. It belongs to '}
      <a href={urls.proposal(org.id, node_id, number)}>proposal #{number}</a>.
      {isEditable(pull, org, person) && (
        <>
          {' '}
          <a href={urls.edit(org.id, node_id, source_branch)} data-key="e">
            Edit this proposal
          </a>
        </>
      )}
    </>
  )
}

interface NoTextProps {
  readonly visit: PageContext
  readonly node: Node
  /** True if the visitor may write or propose a text. */
  readonly mayWriteIt: boolean
}

/** Says that the page has no text, unless it has subpages to show. */
function NoText({ visit: { urls }, node, mayWriteIt }: NoTextProps) {
  const hasChildren = node.children.length > 0
  if (hasChildren && !mayWriteIt) return null
  return (
    <p class="why">
      {!hasChildren && 'This page has no text yet.'}{' '}
      {mayWriteIt && <a href={urls.edit(node.org_id, node.id)}>{hasChildren ? 'Write a text' : 'Write something'}</a>}
    </p>
  )
}

interface BelowProps {
  readonly visit: PageContext
  readonly node: Node
  readonly hasText: boolean
}

/** Shows the children below the text. A few children of a page without text are tiles. */
function Below({ visit: { urls }, node, hasText }: BelowProps) {
  if (node.children.length === 0) return null
  const isTiled = !hasText && node.num_children <= mostTiles
  return (
    <section class="below">
      <h2>Subpages</h2>
      <ul class={isTiled ? 'tiles' : undefined}>
        {node.children.slice(0, mostChildren).map(({ id, title, label }) => (
          <li class={isTiled ? 'card' : undefined}>
            <a href={urls.node(node.org_id, id, title)}>{title}</a>
            {label && <span class="why"> {label}</span>}
          </li>
        ))}
      </ul>
      {node.num_children > mostChildren && (
        <p class="more">
          <a class="btn" href={urls.subpages(node.org_id, node.id)}>
            All {plural(node.num_children, 'subpage')}
          </a>
        </p>
      )}
    </section>
  )
}
