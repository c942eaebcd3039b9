/** The pages of a proposal of several, each with its difference and its review. */

import type { VNode } from 'preact'
import { AppError } from '../../base/errors.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import type { PageContext } from '../page-context.ts'
import { type FileChange, FileDiffs, newComparing, newReading, readFileChanges } from '../text/diff.tsx'
import { resolver } from '../text/links.ts'
import { showText } from '../text/texts.ts'
import { formLink, Hidden, TextArea } from './comment-form.tsx'
import { plural } from './dates.tsx'
import { FieldChanges, readFieldChanges } from './field-changes.tsx'
import { Icon, type IconName } from './icons.tsx'
import { EdgeList } from './impact.tsx'
import { Prose } from './prose.tsx'
import { toChange } from './pull-impact.tsx'
import type { Refusal } from './review-acts.ts'
import { isEditable, mayChangeSet } from './rights.ts'
import { faultsOfItem, type Item, isToReview, type SetTalk, stateOfItem } from './set-needs.ts'
import {
  type ItemTalk,
  ReviewsOfItem,
  readItemReviews,
  readItemThreads,
  renderThreads,
  ThreadsOfItem,
} from './set-threads.tsx'
import type { Pull } from './talk.ts'

export type SetImpact = AnswerOf<'getChangeSetImpact'>

/** Edges of a page that are listed. */
const mostEdges = 24

/** The content of a page, which only open ones have. */
export interface ItemContent extends ItemTalk {
  readonly pr: Pull
  readonly files: readonly FileChange[]
  readonly fields: Awaited<ReturnType<typeof readFieldChanges>>
  readonly tags: readonly string[]
  /** The text of a page that appears or vanishes, as HTML. `renderItems` sets it. */
  html?: string
}

/** Reads the content of some pages, by node. Leaves out pages that are gone. */
export async function readItems(
  visit: PageContext,
  org_id: string,
  items: readonly Item[],
): Promise<Map<string, ItemContent>> {
  const { api } = visit
  const left = newReading()
  const contents = new Map<string, ItemContent>()
  for (const item of items) {
    const { node_id, number, status } = item
    if (status === 'gone') continue
    const path = { org_id, node_id, number }
    try {
      const [{ pr }, changes, node, talk] = await Promise.all([
        api.getPull({ path }),
        api.getPullChanges({ path }),
        api.getNode({ path, query: { proposed: 'true' } }),
        readItemThreads(visit, org_id, item),
      ])
      const reviews = await readItemReviews(visit, path, pr)
      const files = await readFileChanges(api, path, changes, left)
      const fields = await readFieldChanges(api, node, files)
      contents.set(node_id, { ...talk, ...{ reviews, pr, files, fields, tags: node.tags } })
    } catch (error) {
      if (!(error instanceof AppError && error.code.endsWith('_not_found'))) throw error
    }
  }
  return contents
}

/** Renders the texts of pages that appear or vanish, and the comments. */
export async function renderItems(talk: SetTalk, contents: Map<string, ItemContent>): Promise<void> {
  const { visit, org, set } = talk
  const { urls, turn } = visit
  for (const { node_id, act, title } of set.items) {
    const content = contents.get(node_id)
    if (content === undefined) continue
    await renderThreads(talk, node_id, content)
    if (act === 'change') continue
    const file = content.files.find(({ path }) => isText(path))
    const text = act === 'delete' ? file?.before : file?.after
    if (!text?.trim()) continue
    const place = { org: org.id, node: node_id, revision: content.pr.source_commit, isQuoted: true }
    const key = `${act} ${node_id} ${content.pr.source_commit} ${urls.org(org.id)}`
    const resolve = resolver(urls, place, [])
    content.html = (await showText({ key, scope: node_id, text, title, resolve }, turn.signal)).html
  }
}

function isText(path: string): boolean {
  return path === 'content.md' || path === 'README.md'
}

const acts: Readonly<Record<Item['act'], { icon: IconName; tone: string; says: string }>> = {
  create: { icon: 'plus', tone: 'add', says: 'New page' },
  change: { icon: 'pen', tone: '', says: 'Change' },
  delete: { icon: 'cross', tone: 'del', says: 'Deletion' },
  restore: { icon: 'undo', tone: 'add', says: 'Restored page' },
}

/** The line of a page: its act, title, review and state. */
function ItemHead({ item, content }: { readonly item: Item; readonly content?: ItemContent | undefined }) {
  const { icon, tone, says } = acts[item.act]
  const state = stateOfItem(item)
  const comments = item.comments + (content?.reviews.filter(({ text }) => text !== '').length ?? 0)
  const facts = [
    says,
    item.read === 'changed' && 'changed since you read it',
    item.approvals > 0 && plural(item.approvals, 'approval'),
    comments > 0 && plural(comments, 'comment'),
    item.open_threads > 0 && plural(item.open_threads, 'open thread'),
    item.own_verdict && (item.own_verdict === 'approve' ? 'approved by you' : 'you asked for changes'),
  ]
  return (
    <>
      <span class={`sign ${tone}`}>
        <Icon name={icon} />
      </span>
      <span class="t">
        <strong>
          <bdi>{item.title || 'A deleted page'}</bdi>
        </strong>
        <small>{facts.filter(Boolean).join(' · ')}</small>
      </span>
      <span class={`state ${state.look}`}>{state.says}</span>
    </>
  )
}

/** A list of links, for small screens. Each shows one page. */
export function ItemIndex({ talk: { visit, org, set } }: { readonly talk: SetTalk }) {
  return (
    <nav class="set-index" aria-label="Pages of this proposal">
      <ul>
        {set.items.map((item) => (
          <li>
            <a href={visit.urls.changeSet(org.id, set.number, item.node_id)}>
              <ItemHead item={item} />
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}

interface ItemsProps {
  readonly talk: SetTalk
  readonly contents: ReadonlyMap<string, ItemContent>
  readonly impact: SetImpact
  /** The node of the only page that is shown. */
  readonly only: string | undefined
  readonly refusal: (Refusal & { readonly node: string }) | undefined
}

export function Items({ talk, contents, impact, only, refusal }: ItemsProps) {
  const { visit, org, set } = talk
  const left = newComparing()
  const shown = only === undefined ? set.items : set.items.filter(({ node_id }) => node_id === only)
  return (
    <div class="set-items">
      {shown.map((item) => {
        const content = contents.get(item.node_id)
        const isOpen = content !== undefined && (only !== undefined || item.own_verdict !== 'approve')
        const isUnread = only === undefined && isToReview(set, item, visit.person?.id) && item.read !== 'read'
        return (
          <details
            class="set-item"
            id={`page-${item.node_id}`}
            open={isOpen}
            data-to-read={isUnread ? visit.urls.changeSet(org.id, set.number, item.node_id) : undefined}
          >
            <summary>
              <h2>
                <ItemHead {...{ item, content }} />
              </h2>
            </summary>
            {content === undefined ? (
              <Unread talk={talk} item={item} />
            ) : (
              <ItemBody {...{ talk, item, content, impact, left }} refusal={refusal} />
            )}
          </details>
        )
      })}
    </div>
  )
}

/** A page whose content was not read. */
function Unread({ talk: { visit, org, set }, item }: { readonly talk: SetTalk; readonly item: Item }) {
  if (item.status === 'gone') return <p class="why">This page was deleted.</p>
  return (
    <p>
      <a class="btn" href={visit.urls.changeSet(org.id, set.number, item.node_id)} data-show-page>
        Show this page
      </a>
    </p>
  )
}

interface BodyProps {
  readonly talk: SetTalk
  readonly item: Item
  readonly content: ItemContent
  readonly impact: SetImpact
  readonly left: ReturnType<typeof newComparing>
  readonly refusal: ItemsProps['refusal']
}

function ItemBody({ talk, item, content, impact, left, refusal }: BodyProps) {
  const { visit, org } = talk
  const { act, node_id, title, number } = item
  const faults = item.status === 'open' ? faultsOfItem(item) : []
  const href = visit.urls.proposal(org.id, node_id, number, title)
  const files =
    act === 'change' ? content.files : content.files.filter(({ path }) => path !== 'node.json' && !isText(path))
  return (
    <div class="changes">
      {faults.length + item.problems.length > 0 && (
        <ul class="needs">
          {faults.map((fault) => (
            <li>{fault}</li>
          ))}
          {item.problems.map(({ path, reason }) => (
            <li>
              <span class="ref">{path}</span> {reason}
            </li>
          ))}
        </ul>
      )}
      {act !== 'delete' && <ItemEdges {...{ talk, item, impact }} />}
      {act !== 'delete' && <FieldChanges changes={content.fields} />}
      {act !== 'change' && <WholeText {...{ talk, item, content }} />}
      <FileDiffs
        files={files}
        left={left}
        notesOf={({ path }) => ({
          below: new Map(),
          hrefOf: (side, line) => href + formLink(new URLSearchParams(), path, side, line),
        })}
      />
      <ReviewsOfItem {...{ talk, item }} about={content} />
      <ThreadsOfItem {...{ talk, item, href }} about={content} />
      {item.status === 'open' && <ItemFoot {...{ talk, item, content, href, refusal }} />}
    </div>
  )
}

/** The text of a page that appears or vanishes. */
function WholeText({ talk, item, content }: Pick<BodyProps, 'talk' | 'item' | 'content'>) {
  const isGone = item.act === 'delete'
  return (
    <div class={isGone ? 'card set-text gone' : 'card set-text'}>
      {isGone && <p class="why">This page will be deleted with its text:</p>}
      {content.html === undefined ? (
        <p class="empty">It has no text.</p>
      ) : (
        <Prose urls={talk.visit.urls} html={content.html} look="small" />
      )}
      {!isGone && content.tags.length > 0 && <p class="why">Tags: {content.tags.join(', ')}</p>}
    </div>
  )
}

/** The edges that the page gains and loses. */
function ItemEdges({ talk, item, impact }: Pick<BodyProps, 'talk' | 'item' | 'impact'>) {
  const edges = edgesOfItem(impact, item.node_id)
  if (edges.length === 0) return null
  return (
    <section class="card">
      <header>
        <h2>Links that change</h2>
      </header>
      <div class="edges only">
        <EdgeList
          edges={edges.map((edge) => ({ ...edge, from: item.title }))}
          most={mostEdges}
          hrefOf={hrefOfNode(talk, impact)}
        />
      </div>
    </section>
  )
}

/** Returns the changed edges that the node holds. */
export function edgesOfItem({ edges_added, edges_removed }: SetImpact, node: string) {
  const isOwn = ({ edge_type, source, target }: SetImpact['edges_added'][number]) =>
    node === (edge_type === 'parent_child' ? target : source)
  return [
    ...edges_added.filter(isOwn).map((edge) => toChange('+', edge, node)),
    ...edges_removed.filter(isOwn).map((edge) => toChange('-', edge, node)),
  ]
}

/** Returns the URL behind a title. A page that is only proposed is shown in the proposal. */
export function hrefOfNode({ visit: { urls }, org, set }: SetTalk, { nodes_added }: SetImpact) {
  const isNew = new Set(set.status === 'merged' ? [] : nodes_added.map(({ node_id }) => node_id))
  return (id: string, title: string) =>
    isNew.has(id) ? urls.changeSet(org.id, set.number, id) : urls.node(org.id, id, title)
}

/** The visitor's review of the page, and what they may do with it. */
function ItemFoot({
  talk,
  item,
  content,
  href,
  refusal,
}: Omit<BodyProps, 'impact' | 'left'> & { readonly href: string }) {
  const { visit, org, set } = talk
  const { pr } = content
  const fields = { node: item.node_id, number: item.number, commit: pr.source_commit, seen: pr.last_activity_at }
  const action = `?${new URLSearchParams(visit.query.has('page') ? { page: item.node_id } : {})}`
  const own = item.own_verdict
  const isAuthor = [pr.author_id, set.author_id].includes(visit.person?.id)
  const refused = refusal?.node === item.node_id ? refusal : undefined
  const button = (act: string, says: string, look = 'btn small') => (
    <button class={look} type="submit" name="act" value={act}>
      {says}
    </button>
  )
  return (
    <footer class="set-foot">
      {refused && (
        <p class="problem" role="alert">
          {refused.says}
        </p>
      )}
      {isAuthor && <p class="why">Other members review what you propose.</p>}
      {own === 'approve' && <p class="why">You approved this page.</p>}
      {own === 'request_changes' && <p class="why">You asked for changes of this page.</p>}
      {!isAuthor && own !== 'approve' && (
        <form method="post" action={action}>
          <Hidden fields={{ ...fields, verdict: 'approve' }} />
          {button('review', 'Approve', 'btn go small')}
        </form>
      )}
      {!isAuthor && own !== 'request_changes' && (
        <details open={refused !== undefined}>
          <summary class="btn small">Ask for changes</summary>
          <form method="post" action={action}>
            <Hidden fields={{ ...fields, verdict: 'request_changes' }} />
            <TextArea label="What should change?" rows={3} text={refused?.fields.text ?? ''} isRequired />
            {button('review', 'Submit')}
          </form>
        </details>
      )}
      {item.reasons.includes('diverged') && (
        <form method="post" action={action}>
          <Hidden fields={fields} />
          {button('update', 'Update')}
        </form>
      )}
      {item.act !== 'delete' && isEditable(pr, org, visit.person) && (
        <a class="btn small" href={visit.urls.edit(org.id, item.node_id, pr.source_branch)}>
          Edit
        </a>
      )}
      <a class="btn small quiet" href={href}>
        {item.comments > 0 ? plural(item.comments, 'comment') : 'Comment'}
      </a>
      {mayChangeSet(set, org, visit.person) && (
        <form method="post" action={action}>
          <Hidden fields={fields} />
          {button('remove', 'Take out', 'btn small quiet')}
        </form>
      )}
    </footer>
  )
}

interface StepsProps {
  readonly talk: SetTalk
  /** The node of the page that is shown. */
  readonly only: string
}

/** Links to the page before and after. */
export function Steps({ talk: { visit, org, set }, only }: StepsProps): VNode {
  const { items } = set
  const at = items.findIndex(({ node_id }) => node_id === only)
  const link = (item: Item | undefined, key: string, says: string) =>
    item && (
      <a class="btn" href={visit.urls.changeSet(org.id, set.number, item.node_id)} data-key={key}>
        {says}
        <span class="vh"> {item.title}</span>
      </a>
    )
  return (
    <nav class="set-steps" aria-label="Pages of this proposal">
      {link(items[at - 1], 'k', 'Previous')}
      <a href={visit.urls.changeSet(org.id, set.number)}>
        {at + 1} of {plural(items.length, 'page')}
      </a>
      {link(items[at + 1], 'j', 'Next')}
    </nav>
  )
}
