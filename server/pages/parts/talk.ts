/** The conversation on the page of a proposal: the visitor, their rights, and links. */

import * as limits from '../../base/limits.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import type { PageContext } from '../page-context.ts'
import { showComment } from '../text/comment-text.ts'
import { resolver } from '../text/links.ts'
import { asSource } from '../text/rendering.ts'
import type { Effort } from '../text/word-diff.ts'
import type { AtNode } from './node-head.tsx'
import { mayWrite } from './rights.ts'

export type Pull = AnswerOf<'getPull'>['pr']
export type Comment = AnswerOf<'getComment'>
export type Thread = AnswerOf<'listThreads'>['threads'][number]
export type Review = AnswerOf<'getReview'>
export type Member = AnswerOf<'listMembers'>['members'][number]

/** Members whose names a page knows. */
export const mostMembers = 200

/** A conversation about a proposal, for a page or for several. */
export interface Conversing {
  readonly visit: PageContext
  readonly at: Pick<AtNode, 'org' | 'path'>
  readonly pr: Pick<
    Pull,
    | 'id'
    | 'number'
    | 'status'
    | 'author'
    | 'author_id'
    | 'opened_via'
    | 'created_at'
    | 'last_activity_at'
    | 'source_branch'
    | 'source_commit'
    | 'target_branch'
    | 'merge_reasons'
  >
  readonly members: readonly Member[]
  /** The pages of a proposal of several. */
  readonly pages?: readonly { readonly node_id: string; readonly title: string }[]
  /** The merge base, whose lines the proposal removes. */
  readonly base: string | null
  /** The readers of the views fill it. */
  readonly suggesting: Suggesting
  /** The HTML of texts by entry. `prepare` fills it. */
  readonly html: Map<number, string>
}

export interface Talk extends Conversing {
  readonly at: AtNode
  readonly pr: Pull
}

/** True for a proposal of several pages. Its path has the id of the organisation as node. */
export function isOfPages({ at: { path } }: Pick<Conversing, 'at'>): boolean {
  return path.node_id === path.org_id
}

/** The facts about suggestions that the views show. */
export interface Suggesting {
  /** The text that the suggestions of a thread replace, by its first comment. */
  readonly replaced: Map<number, string>
  /** Threads whose suggestions cannot be applied, by first comment. */
  readonly outdated: Set<number>
  /** The budget for comparing all suggestions of the page. */
  readonly effort: Effort
}

/** Parameters that choose what the page shows. Other parameters open a form or confirm an action. */
const viewParameters = ['tab', 'since', 'base', 'after', 'threads'] as const

/** Returns a link to the page's present view with these parameters, as a relative URL. */
export function viewLink(query: URLSearchParams, more: Readonly<Record<string, string>> = {}, fragment = ''): string {
  const kept = new URLSearchParams()
  for (const name of viewParameters) {
    const value = query.get(name)
    if (value) kept.set(name, value)
  }
  for (const [name, value] of Object.entries(more)) kept.set(name, value)
  return `?${kept}${fragment === '' ? '' : `#${fragment}`}`
}

/** Entries on a page of the conversation. */
export const pageEntries = 100

/** Returns a relative link to an entry in the conversation. A late entry is shown with some before it. */
export function entryLink(entry: number): string {
  const after = entry > pageEntries ? `&after=${entry - pageEntries / 4}` : ''
  return `?tab=conversation${after}#c${entry}`
}

export async function readMembers({ api }: PageContext, org: string): Promise<readonly Member[]> {
  return (await api.listMembers({ path: { org_id: org }, query: { limit: mostMembers } })).members
}

/** Returns the name of a user by id. */
export function nameOf({ members }: Pick<Conversing, 'members'>, id: string): string {
  return members.find(({ user_id }) => user_id === id)?.name ?? 'a former member'
}

/** A text to render: a comment or a review. */
export interface Spoken {
  readonly entry: number
  readonly text: string
  readonly mentions?: readonly string[]
  readonly edited_at?: string
}

/** Renders texts, so that components can show them. Beyond a limit, texts are shown as their source. */
export async function renderTexts(talk: Conversing, texts: readonly Spoken[]): Promise<void> {
  const { visit, at, pr, html } = talk
  const resolve = resolver(visit.urls, { org: at.path.org_id, node: at.path.node_id, revision: 'main' }, [])
  let left = limits.talkHtmlUnits
  for (const { entry, text, mentions = [], edited_at } of texts) {
    if (text.trim() === '') continue
    if (left <= 0) {
      html.set(entry, asSource(text, 'is on a page whose other texts are long').html)
      continue
    }
    const key = `comment ${pr.id} ${entry} ${edited_at ?? ''} ${visit.urls.node(at.path.org_id, at.path.node_id)}`
    const names = mentions.map((id) => nameOf(talk, id))
    const said = { key, scope: `comment-${entry}`, text, names, resolve }
    const shown = await showComment(said, visit.turn.signal)
    left -= shown.length
    html.set(entry, shown)
  }
}

export function isMaintainer({ at }: Conversing): boolean {
  return at.org.role === 'maintainer' || at.org.role === 'owner'
}

/** True if the visitor wrote it. */
export function isOwn({ visit }: Conversing, { author_id }: { readonly author_id?: string }): boolean {
  return author_id !== undefined && author_id === visit.person?.id
}

/** True if the visitor may resolve and reopen the thread with this first comment. */
export function mayResolve(talk: Conversing, first: Comment): boolean {
  return mayWrite(talk.at.org.role) || isOwn(talk, first) || isOwn(talk, talk.pr)
}
