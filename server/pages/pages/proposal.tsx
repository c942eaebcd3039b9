/** One proposal: its conversation, changes, commits and next action. */

import type { ComponentChildren, VNode } from 'preact'
import { AppError, ValidationError } from '../../base/errors.ts'
import { type Page, type PageContext, type PageResult, param, redirect } from '../page-context.ts'
import { ChangesView, commentsIn, readThreads } from '../parts/changes-view.tsx'
import { ChecksBox } from '../parts/checks.tsx'
import { ConsentBox, countsIn } from '../parts/consent.tsx'
import { ConversationView, readConversation, textsIn } from '../parts/conversation.tsx'
import { plural, When } from '../parts/dates.tsx'
import { FieldChanges, readFieldChanges } from '../parts/field-changes.tsx'
import { MuteForm, readPullMuted } from '../parts/follow-button.tsx'
import { MergeBox } from '../parts/merge-box.tsx'
import { NodePath, readAtNode } from '../parts/node-head.tsx'
import { actOnProposal, numberOf, type PullPath, toldRefusals } from '../parts/proposal-acts.ts'
import { Prose } from '../parts/prose.tsx'
import { ProposedImpact, readPullImpact } from '../parts/pull-impact.tsx'
import { LostPage, RefusedForm } from '../parts/refused-form.tsx'
import { actOnReview, type Refusal, refusalOf, reviewActOf } from '../parts/review-acts.ts'
import { mayWrite } from '../parts/rights.ts'
import { findMembers } from '../parts/rule-fields.ts'
import { readSince, SinceView } from '../parts/since-view.tsx'
import { noSuggestions } from '../parts/suggesting.ts'
import { SuggestionsBox } from '../parts/suggestion.tsx'
import {
  type Comment,
  type Member,
  mostMembers,
  type Pull,
  readMembers,
  renderTexts,
  type Spoken,
  type Talk,
  viewLink,
} from '../parts/talk.ts'
import { Name } from '../parts/thread.tsx'
import { YourReview } from '../parts/verdict.tsx'
import { ViaName } from '../parts/via.tsx'
import { asSentence } from '../text/broken-rules.ts'
import { type Changes, isEdge, readFileChanges } from '../text/diff.tsx'
import { resolver } from '../text/links.ts'
import { showText } from '../text/texts.ts'
import type { Urls } from '../urls.ts'
import { CommitList } from './history.tsx'
import { Pill } from './proposal-list.tsx'
import { UndoButton } from './undo.tsx'

/** Maximum commits in the list. */
const mostCommits = 100
/** Characters of a description that is shown above the changes without unfolding. */
const shortDescription = 1_000

const tabs = { conversation: 'Conversation', changes: 'Changes', commits: 'Versions' } as const
type Tab = keyof typeof tabs
const tabNames = Object.keys(tabs) as Tab[]

interface More {
  /** Why the proposal was not merged, closed or updated. */
  readonly problem?: string
  readonly refusal?: Refusal
}

/** The content of a tab. */
interface View {
  readonly facts: unknown
  readonly texts?: readonly Spoken[]
  /** The comments whose suggestions can be applied together. */
  readonly comments?: readonly Comment[]
  body(description: string): VNode
}

export function showProposal(visit: PageContext): Promise<Page> {
  return proposalPage(visit)
}

async function proposalPage(visit: PageContext, { problem, refusal }: More = {}): Promise<Page> {
  const { api } = visit
  const at = await readAtNode(visit, true)
  const path = { ...at.path, number: numberOf(visit) }
  const [{ pr }, changes, { total }, members, isMuted] = await Promise.all([
    api.getPull({ path }),
    api.getPullChanges({ path }),
    api.listPullCommits({ path, query: { limit: 1 } }),
    readMembers(visit, at.org.id),
    readPullMuted(visit, at.org, path),
  ])
  const talk: Talk = {
    visit,
    at,
    pr,
    members: await withNamed(visit, at.org.id, members, pr),
    base: changes.base_commit_id,
    suggesting: noSuggestions(),
    html: new Map(),
  }
  const tab = tabNames.find((one) => one === visit.query.get('tab')) ?? 'changes'
  const view = await readView(talk, tab, changes)
  const names = talk.members.map(({ user_id, name }) => [user_id, name])
  const suggesting = [[...talk.suggesting.replaced], [...talk.suggesting.outdated]]
  const between = [changes.base_commit_id, changes.target_commit_id]
  let description = ''
  return {
    ...{ kind: 'page', place: { org: at.org, crumb: at.node.title } },
    facts: { at, pr, isMuted, between, total, names, problem, refusal, suggesting, view: view.facts },
    head: { title: `${pr.title} · ${at.node.title}`, noIndex: true },
    prepare: async () => {
      description = await readDescription(visit, at.path, { ...pr, changed: pr.updated_at })
      await renderTexts(talk, view.texts ?? [])
    },
    body: () => (
      <Frame
        {...{ talk, tab, isMuted, counts: countsOf(pr, changes, total), more: { problem, refusal } }}
        comments={view.comments ?? []}
      >
        {view.body(description)}
      </Frame>
    ),
  }
}

/** Adds the members whom rules name. Organisations can have more members than a page reads. */
async function withNamed(
  visit: PageContext,
  org: string,
  members: readonly Member[],
  { consent }: Pull,
): Promise<readonly Member[]> {
  const known = new Set(members.map(({ user_id }) => user_id))
  const named = consent.missing.flatMap(({ of }) => of.people ?? []).filter((id) => !known.has(id))
  return named.length === 0 || known.size < mostMembers
    ? members
    : [...members, ...(await findMembers(visit, org, new Set(named)))]
}

function readView(talk: Talk, tab: Tab, changes: Changes): Promise<View> {
  const since = talk.visit.query.get('since')
  if (since && tab === 'changes') return sinceView(talk, since)
  switch (tab) {
    case 'conversation':
      return conversationView(talk)
    case 'commits':
      return commitsView(talk)
    case 'changes':
      return changesView(talk, changes)
  }
}

async function conversationView(talk: Talk): Promise<View> {
  const shown = await readConversation(talk)
  const path = { ...talk.at.path, number: talk.pr.number }
  if (shown.next === undefined) await markAsRead(talk.visit, path, shown.entries.at(-1)?.entry)
  return {
    facts: { ...shown, quotes: [...shown.quotes] },
    texts: textsIn(shown),
    comments: shown.entries.flatMap(({ comment }) => comment ?? []),
    body: (description) => <ConversationView talk={talk} shown={shown} description={description} />,
  }
}

/**
 * Marks the conversation as read up to its last entry. If that fails, it waits for the visitor once more.
 *
 * @param head the commit that was read
 */
export async function markAsRead(
  { api }: PageContext,
  path: PullPath,
  entry: number | undefined,
  head?: string,
): Promise<void> {
  if (entry === undefined) return
  await api.putReadMark({ path, body: { entry, ...(head !== undefined && { head }) } }).catch(() => undefined)
}

async function changesView(talk: Talk, changes: Changes): Promise<View> {
  const { visit, at, pr } = talk
  const [files, shown, impact] = await Promise.all([
    readFileChanges(visit.api, at.path, changes),
    readThreads(talk),
    readPullImpact(visit.api, { ...at.path, number: pr.number }),
  ])
  const fields = await readFieldChanges(visit.api, at.node, files)
  return {
    // The difference between two commits never changes, so their ids are enough for the ETag. Labels can change.
    facts: { ...shown, quotes: [...shown.quotes], impact, fields },
    texts: commentsIn(shown),
    comments: commentsIn(shown),
    body: (description) => (
      <>
        <Description urls={visit.urls} source={pr.description} html={description} />
        <div id="changes" class="changes">
          <ProposedImpact urls={visit.urls} org={at.org.id} title={at.node.title} impact={impact} />
          <FieldChanges changes={fields} />
          <ChangesView talk={talk} files={files} total={filesIn(changes)} shown={shown} />
        </div>
      </>
    ),
  }
}

/** The description above the changes. A long one is folded. */
export function Description({
  urls,
  source,
  html,
}: {
  readonly urls: Urls
  readonly source: string
  readonly html: string
}) {
  if (html === '') return null
  return (
    <details class="description" open={source.length <= shortDescription}>
      <summary>Description</summary>
      <Prose urls={urls} html={html} look="small" />
    </details>
  )
}

async function sinceView(talk: Talk, since: string): Promise<View> {
  const shown = await readSince(talk, since)
  return {
    facts: { since: shown.since },
    body: () => (
      <div id="changes" class="changes">
        <SinceView talk={talk} shown={shown} />
      </div>
    ),
  }
}

async function commitsView({ visit, at, pr }: Talk): Promise<View> {
  const path = { ...at.path, number: pr.number }
  const { commits, total } = await visit.api.listPullCommits({ path, query: { limit: mostCommits } })
  return {
    facts: { commits },
    body: () => (
      <section class="card" id="commits">
        <header>
          <h2>{plural(total, 'version')}</h2>
        </header>
        <CommitList urls={visit.urls} org={at.org.id} commits={commits} />
        {total > commits.length && <p class="empty">and {total - commits.length} more</p>}
      </section>
    ),
  }
}

/** Counts the files that differ, except edges. */
function filesIn({ added, removed, modified }: Changes): number {
  return [...added, ...removed, ...modified].filter(({ entity_key }) => !isEdge(entity_key ?? '')).length
}

function countsOf(pr: Pull, changes: Changes, commits: number): Readonly<Record<Tab, number>> {
  const { added, removed, modified } = changes
  const files = filesIn(changes)
  const hasEdges = added.length + removed.length + modified.length > files
  return { conversation: pr.comments, changes: files + (hasEdges ? 1 : 0), commits }
}

/** The keys of the script, in the order of their list. */
const keys = {
  c: 'Comment on the selected words, or the line in focus',
  s: 'Suggest a text for the selected words, or for the line in focus',
  v: 'Your review',
  '.': 'Next open thread',
  ',': 'Previous open thread',
  x: 'Resolve or reopen the thread in focus',
}

interface FrameProps {
  readonly talk: Talk
  readonly tab: Tab
  /** Undefined: the visitor has no inbox here. */
  readonly isMuted: boolean | undefined
  readonly counts: Readonly<Record<Tab, number>>
  readonly more: {
    readonly problem: string | undefined
    readonly refusal: Refusal | undefined
  }
  /** The comments of the view. */
  readonly comments: readonly Comment[]
  readonly children: VNode
}

function Frame({ talk, tab, isMuted, counts, more: { problem, refusal }, comments, children }: FrameProps) {
  const { visit, at, pr } = talk
  const { urls } = visit
  const { org, node } = at
  return (
    <main
      id="main"
      class="wide"
      data-cards
      data-discussion={`${visit.person?.id} ${node.id} ${pr.number}`}
      data-head={pr.source_commit}
      data-base={talk.base}
      data-keys={JSON.stringify(keys)}
    >
      <NodePath visit={visit} at={at} between={[above(urls, at, pr)]} />
      <ProposalTitle
        pr={pr}
        number={pr.change_set === undefined ? pr.number : undefined}
        what={<Changed pr={pr} title={node.title} />}
        counts={countsIn(pr)}
      />
      {refusal && <RefusedForm talk={talk} refusal={refusal} />}
      <div class="pr-grid">
        <div>
          <nav class="tabs" aria-label="Proposal">
            {tabNames.map((one) => (
              <a href={`?tab=${one}`} aria-current={one === tab ? 'page' : undefined}>
                {tabs[one]} <span class="n">{counts[one]}</span>
              </a>
            ))}
            {node.state !== 'proposed' && (
              <a href={`${urls.node(org.id, node.id)}?at=${encodeURIComponent(readableAt(pr))}`}>View as proposed</a>
            )}
          </nav>
          {children}
        </div>
        <aside class="aside" aria-label="Actions">
          <MergeBox talk={talk} problem={problem}>
            {pr.status === 'merged' && mayWrite(org.role) && <UndoButton urls={urls} org={org.id} pr={pr} />}
          </MergeBox>
          <SuggestionsBox talk={talk} comments={comments} />
          <ConsentBox talk={talk} />
          <ChecksBox shown={{ checks: pr.consent.checks, is_damaged: false }} />
          {pr.status === 'open' && <YourReview talk={talk} />}
          {isMuted !== undefined && <MuteForm visit={visit} org={org.id} pull={pr} isMuted={isMuted} />}
          <GitDetails pr={pr} />
        </aside>
      </div>
    </main>
  )
}

/** Facts for users of Git. */
function GitDetails({ pr }: { readonly pr: Pull }) {
  return (
    <details class="git-details">
      <summary>Git details</summary>
      <dl class="facts">
        <dt>Branch</dt>
        <dd class="ref">{pr.source_branch}</dd>
        <dt>Into</dt>
        <dd class="ref">{pr.target_branch}</dd>
        <dt>Commit</dt>
        <dd class="sha">{pr.source_commit.slice(0, 12)}</dd>
        {pr.status === 'open' && (
          <>
            <dt>Ahead</dt>
            <dd>{plural(pr.commits_ahead, 'commit')}</dd>
            <dt>Behind</dt>
            <dd>{plural(pr.commits_behind, 'commit')}</dd>
          </>
        )}
      </dl>
      {pr.status === 'open' && <p class="sha">git fetch origin {pr.source_branch}</p>}
    </details>
  )
}

/** The step above the proposal. For a part of a proposal of several pages, it is the whole. */
function above(urls: Urls, { org, node }: Talk['at'], { change_set: set }: Pull) {
  return set === undefined
    ? { title: 'Proposals', href: urls.proposals(org.id, node.id) }
    : { title: 'Proposal of several pages', href: urls.changeSet(org.id, set, node.id) }
}

interface TitleProps {
  readonly pr: Pick<Pull, 'title' | 'status' | 'is_draft' | 'author' | 'opened_via' | 'created_at'>
  /** The pages that it changes, within a sentence. */
  readonly what: ComponentChildren
  /** Undefined for a part of a proposal of several pages, which has one number. */
  readonly number: number | undefined
  /** Its reviews and comments. Undefined: not known. */
  readonly counts: string | undefined
}

/** The title of a proposal, its state and its author. */
export function ProposalTitle({ pr, number, what, counts }: TitleProps) {
  return (
    <div class="pr-head">
      <div>
        <h1>
          {pr.title} {number !== undefined && <span class="num">#{number}</span>}
        </h1>
        <div class="meta">
          <Pill pull={pr} />
          <span>
            <strong>
              <Name>{pr.author}</Name>
            </strong>
            <ViaName via={pr.opened_via} /> {pr.status === 'open' ? 'proposes' : 'proposed'} to change {what}
          </span>
          <When time={pr.created_at} />
          {counts !== undefined && (
            <a class="counts" href="#consent">
              {counts || 'Not reviewed yet'}
            </a>
          )}
        </div>
      </div>
    </div>
  )
}

/** @param title of the page that the proposal changes */
function Changed({ pr, title }: { readonly pr: Pull; readonly title: string }) {
  return (
    <>
      <em>
        <Name>{title}</Name>
      </em>
      {pr.target_branch !== 'main' && (
        <>
          {' '}
          on <span class="ref">{pr.target_branch}</span>
        </>
      )}
    </>
  )
}

/** Returns the branch while the proposal is open, else its last commit. */
function readableAt({ status, source_branch, source_commit }: Pull): string {
  return status === 'open' ? source_branch : source_commit
}

interface Described extends Pick<Pull, 'id' | 'title' | 'description'> {
  /** The time of its last change. */
  readonly changed: string
}

/** Renders the description as HTML; '' without one. @param place the node or the organisation of the proposal */
export async function readDescription(
  { urls, turn }: PageContext,
  { org_id, node_id }: { readonly org_id: string; readonly node_id: string },
  pr: Described,
): Promise<string> {
  if (pr.description.trim() === '') return ''
  const place = { org: org_id, node: node_id, revision: 'main' }
  const key = `proposal ${pr.id} ${pr.changed} ${urls.node(org_id, node_id)}`
  const resolve = resolver(urls, place, [])
  const { html } = await showText({ key, text: pr.description, title: pr.title, resolve }, turn.signal)
  return html
}

export async function takeProposal(visit: PageContext): Promise<PageResult> {
  const { urls, form } = visit
  const path = { org_id: param(visit, 'org'), node_id: param(visit, 'node'), number: numberOf(visit) }
  if (reviewActOf(form) !== undefined) return takeReview(visit, path)
  try {
    await actOnProposal(visit, path)
  } catch (error) {
    if (!(error instanceof AppError) || !toldRefusals.has(error.code)) throw error
    if (error.code === 'merge_conflict') return redirect(303, urls.resolve(path.org_id, path.node_id, path.number))
    return { ...(await proposalPage(visit, { problem: asSentence(error.message) })), status: 409 }
  }
  const query = viewLink(visit.query).replace(/^\?$/, '')
  return redirect(303, urls.proposal(path.org_id, path.node_id, path.number) + query)
}

/** Performs an act of the conversation. A refused form comes back with its text. */
async function takeReview(visit: PageContext, path: PullPath): Promise<PageResult> {
  const { urls, form } = visit
  const act = reviewActOf(form) ?? 'comment'
  try {
    const link = await actOnReview(visit, path, act)
    const draft = form.get('draft') ?? ''
    const sent = draft === '' ? '' : `&sent=${encodeURIComponent(draft.slice(0, 200))}`
    const [query = '', fragment = ''] = link.split('#')
    const to = `${query}${sent}`.replace(/^\?&?$/, '').replace('?&', '?')
    return redirect(303, `${urls.proposal(path.org_id, path.node_id, path.number)}${to}#${fragment}`)
  } catch (error) {
    const refusal = refusalOf(form, act, error)
    try {
      return { ...(await proposalPage(visit, { refusal })), status: refusal.status }
    } catch (other) {
      if (!(other instanceof AppError || other instanceof ValidationError)) throw other
      return lostPage(visit, refusal)
    }
  }
}

/** Keeps the text if the proposal cannot be shown to the visitor. */
function lostPage({ urls, here, person }: PageContext, { says, status, fields }: Refusal): Page {
  const signIn = person === undefined ? urls.signIn(here) : undefined
  return {
    ...{ kind: 'page', status, place: {}, facts: fields },
    head: { title: 'Not saved', noIndex: true },
    body: () => <LostPage says={says} text={fields.text ?? ''} signIn={signIn} />,
  }
}
