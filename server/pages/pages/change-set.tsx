/** A proposal of several pages: their reviews, their common effect and the merge. */

import type { VNode } from 'preact'
import { AppError, statusOf, ValidationError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { withLineEnds } from '../edits.ts'
import { type Page, type PageContext, type PageResult, param, redirect } from '../page-context.ts'
import { TextArea } from '../parts/comment-form.tsx'
import { ConversationView, readConversation, textsIn } from '../parts/conversation.tsx'
import { plural } from '../parts/dates.tsx'
import { EdgeList } from '../parts/impact.tsx'
import { PathTo } from '../parts/node-head.tsx'
import { actOnProposal, numberOf } from '../parts/proposal-acts.ts'
import { RefusedForm } from '../parts/refused-form.tsx'
import { actOnReview, type Refusal, type ReviewAct, refusalOf, reviewActOf } from '../parts/review-acts.ts'
import { mayChangeSet } from '../parts/rights.ts'
import { SetBox, SetReviewers } from '../parts/set-box.tsx'
import {
  edgesOfItem,
  hrefOfNode,
  type ItemContent,
  ItemIndex,
  Items,
  readItems,
  renderItems,
  type SetImpact,
  Steps,
} from '../parts/set-items.tsx'
import type { ChangeSet, Item, SetTalk } from '../parts/set-needs.ts'
import { noSuggestions } from '../parts/suggesting.ts'
import { type Conversing, readMembers, renderTexts } from '../parts/talk.ts'
import { asSentence } from '../text/broken-rules.ts'
import { Description, markAsRead, ProposalTitle, readDescription } from './proposal.tsx'

/** Pages whose content is read at once. */
const mostOpen = 10
/** Edges in the list of all. */
const mostEdges = 200

const tabNames = ['pages', 'impact', 'conversation'] as const
type Tab = (typeof tabNames)[number]

interface More {
  /** Why the proposal was not merged, closed or changed. */
  readonly problem?: string
  /** A refused review of a page. */
  readonly refusal?: Refusal & { readonly node: string }
  readonly status?: number
}

export function showChangeSet(visit: PageContext): Promise<Page> {
  return changeSetPage(visit)
}

async function changeSetPage(visit: PageContext, { problem, refusal, status = 200 }: More = {}): Promise<Page> {
  const { api, urls, query } = visit
  const path = pathOf(visit)
  const [{ change_set: set }, impact, org, members] = await Promise.all([
    api.getChangeSet({ path }),
    api.getChangeSetImpact({ path }),
    api.getOrg({ path }),
    readMembers(visit, path.org_id),
  ])
  const talk: SetTalk = { visit, org, set, members }
  const asked = query.get('page')
  const one = set.items.find(({ node_id }) => node_id === asked)
  const only = one?.node_id
  const tab = tabNames.find((one) => one === query.get('tab')) ?? 'pages'
  const read = only === undefined ? set.items.slice(0, mostOpen) : set.items.filter(({ node_id }) => node_id === only)
  const contents = tab === 'pages' ? await readItems(visit, org.id, read) : new Map<string, ItemContent>()
  const content = one && contents.get(one.node_id)
  if (content) await markItem(visit, one, content)
  const said = conversingOf(talk)
  const shown = tab === 'conversation' ? await readConversation(said) : undefined
  if (shown?.next === undefined)
    await markAsRead(visit, { ...said.at.path, number: set.number }, shown?.entries.at(-1)?.entry)
  const names = members.map(({ user_id, name }) => [user_id, name])
  let description = ''
  return {
    ...{ kind: 'page', status, place: { org, crumb: 'Proposals' } },
    facts: {
      ...{ set, impact, org, names, only, problem, refusal },
      ...{ shown: shown && { ...shown, quotes: [] }, contents: [...contents] },
    },
    head: {
      ...{ title: `${set.title} · ${org.name}`, noIndex: true },
      ...(tab === 'pages' && only === undefined && { script: 'set.js' }),
    },
    prepare: async () => {
      const about = { ...set, changed: set.last_activity_at }
      description = await readDescription(visit, { org_id: org.id, node_id: org.id }, about)
      await renderItems(talk, contents)
      await renderTexts(said, shown ? textsIn(shown) : [])
    },
    body: () => (
      <Frame {...{ talk, problem, tab }} only={content && only}>
        {tab === 'impact' ? (
          <ImpactView talk={talk} impact={impact} />
        ) : shown ? (
          <>
            {refusal?.node === '' && <RefusedForm talk={said} refusal={refusal} />}
            <ConversationView talk={said} shown={shown} description={description} />
          </>
        ) : (
          <>
            {only === undefined && <Description urls={urls} source={set.description} html={description} />}
            {only === undefined && <ItemIndex talk={talk} />}
            <div class={only === undefined ? 'set-pages' : 'set-pages one'}>
              <Items {...{ talk, contents, impact, only, refusal }} />
            </div>
            {only !== undefined && <Steps talk={talk} only={only} />}
          </>
        )}
      </Frame>
    ),
  }
}

/** Marks the version of the page that is shown as read. */
async function markItem(visit: PageContext, { node_id, number, status, read }: Item, { pr }: ItemContent) {
  if (status === 'open' && read !== 'read')
    await markAsRead(visit, { ...pathOf(visit), node_id, number }, 0, pr.source_commit)
}

/** The conversation about the whole. The organisation is its node, and its head the version of the set. */
function conversingOf({ visit, org, set, members }: SetTalk): Conversing {
  const branches = { source_branch: '', source_commit: set.version, target_branch: 'main', merge_reasons: [] }
  const at = { org, path: { org_id: org.id, node_id: org.id } }
  const pr = { ...set, ...branches }
  return { visit, at, pr, members, pages: set.items, base: null, suggesting: noSuggestions(), html: new Map() }
}

interface FrameProps {
  readonly talk: SetTalk
  readonly problem: string | undefined
  readonly tab: Tab
  /** The node of the only page that is shown. */
  readonly only: string | undefined
  readonly children: VNode
}

function Frame({ talk, problem, tab, only, children }: FrameProps) {
  const { visit, org, set } = talk
  const { urls } = visit
  const base = urls.changeSet(org.id, set.number)
  const steps = [
    { title: org.name, href: urls.org(org.id) },
    { title: 'Proposals', href: urls.orgProposals(org.id) },
  ]
  return (
    <main id="main" class="wide" data-cards>
      <PathTo steps={steps} />
      <ProposalTitle
        pr={set}
        number={set.number}
        what={plural(set.num_items, 'page')}
        counts={set.status === 'open' ? reviewedWords(set) : undefined}
      />
      {set.status !== 'merged' && mayChangeSet(set, org, visit.person) && <EditForm set={set} />}
      <div class="pr-grid">
        <div>
          <nav class="tabs" aria-label="Proposal">
            <a href={base} aria-current={tab === 'pages' ? 'page' : undefined}>
              Pages <span class="n">{set.num_items}</span>
            </a>
            <a href={`${base}?tab=impact`} aria-current={tab === 'impact' ? 'page' : undefined}>
              What it means
            </a>
            <a href={`${base}?tab=conversation`} aria-current={tab === 'conversation' ? 'page' : undefined}>
              Conversation <span class="n">{set.comments}</span>
            </a>
          </nav>
          {children}
        </div>
        <aside class="aside" aria-label="Actions">
          <SetBox talk={talk} problem={problem} />
          <SetReviewers talk={talk} only={only} />
        </aside>
      </div>
    </main>
  )
}

function EditForm({ set }: { readonly set: ChangeSet }) {
  return (
    <details class="set-edit">
      <summary class="btn small">Edit title and description</summary>
      <form class="fields" method="post">
        <label>
          Title
          <input
            {...{ name: 'title', value: set.title, maxLength: limits.title, required: true, autocomplete: 'off' }}
          />
        </label>
        <TextArea label="Description" text={set.description} />
        <button class="btn" type="submit" name="act" value="edit">
          Save
        </button>
      </form>
    </details>
  )
}

/** `3 of 15 pages approved`. */
function reviewedWords({ items }: ChangeSet): string {
  const approved = items.filter(({ approvals }) => approvals > 0).length
  return approved === 0 ? '' : `${approved} of ${plural(items.length, 'page')} approved`
}

/** The pages that come and go, and all edges. */
function ImpactView({ talk, impact }: { readonly talk: SetTalk; readonly impact: SetImpact }) {
  const { org, set } = talk
  const { nodes_added, nodes_removed, orphans, dangling, truncated } = impact
  const edges = set.items.flatMap(({ node_id, title }) =>
    edgesOfItem(impact, node_id).map((edge) => ({ ...edge, from: title })),
  )
  const hrefOf = hrefOfNode(talk, impact)
  const isNothing = [nodes_added, nodes_removed, orphans, edges, dangling].every(({ length }) => length === 0)
  return (
    <div class="changes">
      {isNothing && <p class="why">No page appears or vanishes, and all links stay as they are.</p>}
      <Nodes title="New pages" nodes={nodes_added} hrefOf={hrefOf}>
        {org.published && 'Anyone will be able to read them, because this organisation is published.'}
      </Nodes>
      <Nodes title="Pages to delete" nodes={nodes_removed} hrefOf={hrefOf}>
        They go to the trash.
      </Nodes>
      <Nodes title="Pages that will be below no other" nodes={orphans} hrefOf={hrefOf}>
        They lose their last parent, and stay at the top of the tree.
      </Nodes>
      {edges.length > 0 && (
        <section class="card">
          <header>
            <h2>Links that change</h2>
          </header>
          <div class="edges only">
            <EdgeList edges={edges} most={mostEdges} hrefOf={hrefOf} />
          </div>
        </section>
      )}
      {dangling.length > 0 && (
        <section class="card">
          <header>
            <h2>{plural(dangling.length, 'link will lead nowhere', 'links will lead nowhere')}</h2>
          </header>
          <ul class="set-list">
            {dangling.slice(0, mostEdges).map((edge) => (
              <li>
                <DanglingEdge edge={edge} />
              </li>
            ))}
          </ul>
        </section>
      )}
      {truncated && <p class="why">Some changes are not shown.</p>}
    </div>
  )
}

/** An edge from the page that holds it. */
function DanglingEdge({ edge }: { readonly edge: SetImpact['dangling'][number] }) {
  const ends = [edge.source_title || edge.source, edge.target_title || edge.target]
  const [from, to] = edge.edge_type === 'parent_child' ? ends.reverse() : ends
  return (
    <>
      <bdi>{from}</bdi> → <bdi>{to}</bdi>
    </>
  )
}

interface NodesProps {
  readonly title: string
  readonly nodes: SetImpact['nodes_added']
  readonly hrefOf: (id: string, title: string) => string
  readonly children?: string | boolean
}

function Nodes({ title, nodes, hrefOf, children }: NodesProps) {
  if (nodes.length === 0) return null
  return (
    <section class="card">
      <header>
        <h2>{title}</h2>
        <span class="r">{nodes.length}</span>
      </header>
      <ul class="set-list">
        {nodes.slice(0, mostEdges).map((node) => (
          <li>
            <a href={hrefOf(node.node_id, node.title)}>
              <bdi>{node.title}</bdi>
            </a>
          </li>
        ))}
      </ul>
      {children && <p class="empty">{children}</p>}
    </section>
  )
}

function pathOf(visit: PageContext) {
  return { org_id: param(visit, 'org'), number: numberOf(visit) }
}

export async function takeChangeSet(visit: PageContext): Promise<PageResult> {
  const { urls, form, query } = visit
  const { org_id, number } = pathOf(visit)
  const node = form.get('node') ?? ''
  const at = urls.changeSet(org_id, number, query.has('page') && form.get('act') !== 'remove' ? node : undefined)
  try {
    const talked = talkActOf(form)
    if (talked) return redirect(303, at + (await actOnReview(visit, { org_id, node_id: org_id, number }, talked)))
    const undo = await act(visit)
    if (undo !== undefined) return redirect(303, urls.changeSet(org_id, undo))
  } catch (error) {
    if (!(error instanceof AppError || error instanceof ValidationError)) throw error
    if (error instanceof AppError && error.code === 'merge_conflict' && node !== '')
      return redirect(303, urls.resolve(org_id, node, pullIn(form)))
    const talked = talkActOf(form)
    if (talked) {
      const refusal = { ...refusalOf(form, talked, error), node: '' }
      return changeSetPage(visit, { refusal, status: refusal.status })
    }
    if (form.get('act') === 'review')
      return changeSetPage(visit, { refusal: { ...refusalOf(form, 'review', error), node }, status: 409 })
    const says = error instanceof AppError ? conflictOf(error) : 'The form is incomplete'
    const status = error instanceof AppError ? statusOf[error.code] : 422
    return changeSetPage(visit, { problem: asSentence(says), status })
  }
  return redirect(303, node === '' || form.get('act') === 'remove' ? at : `${at}#page-${node}`)
}

/** The act on the conversation about the whole. Only the form of a comment's text has an entry. */
function talkActOf(form: URLSearchParams): ReviewAct | undefined {
  const sent = reviewActOf(form)
  const isOther = sent === 'review' || sent === 'ask' || sent === 'override' || (sent === 'edit' && !form.has('entry'))
  return isOther ? undefined : sent
}

/** The sentence of a refusal. A conflict names the first pages. */
function conflictOf({ code, facts, message }: AppError): string {
  if (code !== 'merge_conflict' || !Array.isArray(facts.items)) return message
  const titles = facts.items.map(({ title }: { readonly title: string }) => `“${title}”`)
  const named = titles.slice(0, 3).join(', ') + (titles.length > 3 ? ` and ${titles.length - 3} more` : '')
  return `Later edits changed the same text of ${named}, so nothing was changed. Resolve the conflict at each of these pages`
}

/**
 * Performs the act of the form, on the whole or on one page. Returns the number of the proposal that undoes this one.
 *
 * @throws AppError, ValidationError
 */
async function act(visit: PageContext): Promise<number | undefined> {
  const { api, form } = visit
  const path = pathOf(visit)
  const node = form.get('node') ?? ''
  const expected_version = form.get('version') ?? ''
  const reason = form.get('text') ?? ''
  const pull = { org_id: path.org_id, node_id: node, number: pullIn(form) }
  switch (form.get('act')) {
    case 'merge':
      await api.mergeChangeSet({ path, body: { expected_version } })
      return undefined
    case 'override':
      await api.mergeChangeSet({ path, body: { expected_version, override: { reason } } })
      return undefined
    case 'approve':
      await api.submitChangeSetReview({
        path,
        body: { verdict: 'approve', expected_version, items: (form.get('items') ?? '').split(' ') },
      })
      return undefined
    case 'ready':
      await api.updateChangeSet({ path, body: { is_draft: false } })
      return undefined
    case 'update-all':
      await api.updateChangeSetBranches({ path })
      return undefined
    case 'undo':
      return (await api.undoChangeSet({ path, body: {} })).change_set.number
    case 'close':
      await api.updateChangeSet({ path, body: { status: 'closed' } })
      return undefined
    case 'reopen':
      await api.updateChangeSet({ path, body: { status: 'open' } })
      return undefined
    case 'ask':
      await api.updateChangeSet({ path, body: { reviewers: [...new Set(form.getAll('reviewer'))] } })
      return undefined
    case 'edit':
      await api.updateChangeSet({
        path,
        body: { title: form.get('title') ?? '', description: withLineEnds(reason, false) },
      })
      return undefined
    case 'remove':
      await api.updateChangeSet({ path, body: { remove: [node] } })
      return undefined
    case 'review':
      await actOnReview(visit, pull, 'review')
      return undefined
    default:
      await actOnProposal(visit, pull)
      return undefined
  }
}

/** The number of the page's own proposal. */
function pullIn(form: URLSearchParams): number {
  const sent = form.get('number') ?? ''
  return /^[1-9]\d{0,8}$/.test(sent) ? Number(sent) : 0
}
