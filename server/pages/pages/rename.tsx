/** Offers to write the new title of a page in links to it. `?from=`: the title before. */

import { AppError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { type Page, type PageContext, type PageResult, redirect } from '../page-context.ts'
import { plural } from '../parts/dates.tsx'
import { problemOf, RefusedPage } from '../parts/editor-form.tsx'
import { IntoField } from '../parts/into-field.tsx'
import { type AtNode, NodePath, readAtNode } from '../parts/node-head.tsx'
import { mayPropose, maySave, mayWrite } from '../parts/rights.ts'
import { type Into, intoIn, newSet, proposePages } from '../proposing.ts'
import {
  type Linking,
  type LinkingTexts,
  listLinkingTexts,
  type Outcome,
  type Renamed,
  renameIn,
  renameMessage,
  whyNot,
} from '../renaming.ts'
import { sourceAt } from './edit.tsx'

/** `texts`: texts of a form. `offset`: the last offset of the list. */
const most = { texts: 40, offset: 1_000_000 } as const

export async function showRename(visit: PageContext): Promise<PageResult> {
  const { api, urls, query } = visit
  const begun = await begin(visit, query.get('from'))
  if (!('renamed' in begun)) return begun
  const { at, renamed } = begun
  const offset = Math.min(most.offset, Number(/^\d{1,7}$/.exec(query.get('offset') ?? '')?.[0] ?? 0))
  const found = await listLinkingTexts(api, renamed, offset)
  if (found.texts.length === 0 && found.next === undefined && offset === 0)
    return redirect(303, urls.node(at.org.id, at.node.id))
  return offerPage(visit, at, renamed, found)
}

export async function takeRename(visit: PageContext): Promise<PageResult> {
  const { form } = visit
  const begun = await begin(visit, form.get('from'))
  if (!('renamed' in begun)) return begun
  const { at, renamed } = begun
  const sent = [...new Set(form.getAll('text'))].slice(0, most.texts).map(textIn)
  const title = renameMessage(renamed)
  const into = intoIn((name) => form.get(name), title)
  const results: Result[] = []
  // One after the other: each may be a commit that waits for its disk.
  for (const text of sent) results.push(await renameOne(visit, at, renamed, text, into !== undefined))
  return resultPage(visit, at, renamed, await proposeAll(visit, at, into ?? newSet(title), results))
}

interface Results {
  readonly results: readonly Result[]
  /** The number of the proposal. */
  readonly number?: number
}

/** Proposes the changes together. If that is refused, none of them is proposed. */
async function proposeAll(
  { api }: PageContext,
  { org }: AtNode,
  into: Into,
  results: readonly Result[],
): Promise<Results> {
  const nodes = results.flatMap(({ outcome }) => (outcome.kind === 'proposed' ? outcome.item : []))
  if (nodes.length === 0) return { results }
  try {
    return { results, number: await proposePages(api, org.id, into, { nodes }) }
  } catch (error) {
    const [why] = problemOf(error)
    const failed = (one: Result): Result =>
      one.outcome.kind === 'proposed' ? { ...one, outcome: { kind: 'failed', why } } : one
    return { results: results.map(failed) }
  }
}

interface Begun {
  readonly at: AtNode
  readonly renamed: Renamed
}

/** Reads the node. Leads back, or refuses, if there is nothing to offer. */
async function begin(visit: PageContext, name: string | null): Promise<Begun | PageResult> {
  const { urls, person } = visit
  if (person === undefined) throw new AppError('unauthenticated', 'Sign in to update links')
  const at = await readAtNode(visit)
  const { org, node } = at
  const from = (name ?? '').trim().slice(0, limits.title)
  if (!mayPropose(org.role)) return refused(visit, at, 'You have read-only access.')
  const why = from === '' ? 'same' : whyNot(node, from)
  if (why === 'unlinkable')
    return refused(
      visit,
      at,
      'A link cannot be written with this title, because of a character in it or its length. Links keep the old name, and still lead here.',
    )
  if (why !== undefined) return redirect(303, urls.node(org.id, node.id))
  return { at, renamed: { org_id: org.id, node_id: node.id, from, to: node.title } }
}

interface SentText {
  readonly id: string
  readonly head: string
}

/** Reads a page and its commit. @throws AppError bad_request */
function textIn(sent: string): SentText {
  const [, id, head] = /^([0-9a-f-]{36}) ([0-9a-f]{40})$/.exec(sent) ?? []
  if (id === undefined || head === undefined) throw new AppError('bad_request', 'The form names an invalid page')
  return { id, head }
}

interface Result {
  readonly id: string
  readonly title: string
  readonly outcome: Outcome
}

async function renameOne(
  visit: PageContext,
  { org }: AtNode,
  renamed: Renamed,
  { id, head }: SentText,
  isProposed: boolean,
): Promise<Result> {
  const { api } = visit
  const path = { org_id: org.id, node_id: id }
  const node = await api.getNode({ path }).catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'node_not_found') return undefined
    throw error
  })
  if (node === undefined) return { id, title: id, outcome: { kind: 'failed', why: 'It was deleted.' } }
  const { title } = node
  try {
    const source = await sourceAt(api, { org, node, path }, head)
    if (typeof source === 'string')
      return { id, title, outcome: { kind: 'failed', why: `Its text ${source}. Edit it in a clone.` } }
    const text = { path, source: { ...source, head }, isProposed: isProposed || !maySave(org, node) }
    const outcome = await renameIn(api, renamed, text)
    return { id, title, outcome }
  } catch (error) {
    if (error instanceof AppError && error.code === 'head_moved')
      return { id, title, outcome: { kind: 'failed', why: 'It was changed at the same time. Try again.' } }
    return { id, title, outcome: { kind: 'failed', why: problemOf(error)[0] } }
  }
}

/** Says how the visitor changes other pages. Rules can hold for only some of them. */
function proposedWords({ role, rules_for_main }: AtNode['org']): string {
  if (!mayWrite(role) || rules_for_main === 'all') return ' The changes become a proposal, which somebody else merges.'
  return rules_for_main === 'some' ? ' Changes of pages with rules become a proposal.' : ''
}

function offerPage(visit: PageContext, at: AtNode, renamed: Renamed, { texts, next }: LinkingTexts): Page {
  const { urls } = visit
  const { org, node } = at
  const { from, to } = renamed
  const back = urls.node(org.id, node.id)
  const savesAll = mayWrite(org.role) && org.rules_for_main === 'none'
  return {
    ...{ kind: 'page', facts: { at, texts, next, from }, place: { org, crumb: node.title } },
    head: { title: `Update links to ${to} · ${org.name}`, noIndex: true },
    body: () => (
      <main id="main" class="page renaming">
        <NodePath visit={visit} at={at} />
        <h1>Update links</h1>
        <p class="lede">
          “{from}” is now “{to}”. These pages link to it by the old name.
        </p>
        <p class="why">
          Their links still lead here. You can also write the new name in their texts.
          {proposedWords(org)}
        </p>
        <form method="post" action={urls.rename(org.id, node.id, from)}>
          <input type="hidden" name="from" value={from} />
          <ul class="linking">
            {texts.map((text) => (
              <LinkingText text={text} href={urls.node(org.id, text.node_id, text.title)} />
            ))}
          </ul>
          {texts.length === 0 && <p class="why">None of these pages has the old name.</p>}
          <div class="editor-acts">
            {texts.length > 0 && (
              <button class="btn go" type="submit">
                Update links
              </button>
            )}
            {texts.length > 0 && (!savesAll || org.draft_change_sets) && (
              <IntoField org={org} sent={visit.form} {...(savesAll && { alone: 'Save at once' })} />
            )}
            <a class="btn quiet" href={back}>
              {texts.length > 0 ? 'Not now' : 'Back'}
            </a>
            {next !== undefined && <a href={urls.rename(org.id, node.id, from, next)}>More pages</a>}
          </div>
        </form>
      </main>
    ),
  }
}

/** Links of a text that are shown. */
const shownLinks = 3

function LinkingText({ text: { node_id, commit_id, title, links }, href }: { text: Linking; href: string }) {
  const field = `text-${node_id}`
  return (
    <li>
      <input type="checkbox" id={field} name="text" value={`${node_id} ${commit_id ?? ''}`} checked />
      <div>
        <label for={field}>{title}</label>{' '}
        <a href={href} aria-label={`Open ${title}`}>
          Open
        </a>
        {links.slice(0, shownLinks).map(({ before, after, text, target, embeds }) => (
          <p>
            {before}
            <mark>
              {embeds ? '!' : ''}[[{target}
              {text && `|${text}`}]]
            </mark>
            {after}
          </p>
        ))}
        {links.length > shownLinks && <p class="why">and {plural(links.length - shownLinks, 'more link')}</p>}
      </div>
    </li>
  )
}

function resultPage(visit: PageContext, at: AtNode, { from, to }: Renamed, { results, number }: Results): Page {
  const { urls } = visit
  const { org, node } = at
  const of = (kind: Outcome['kind']) => results.filter(({ outcome }) => outcome.kind === kind)
  const [done, proposed, failed] = [of('done'), of('proposed'), of('failed')]
  const page = ({ id, title }: Result) => <a href={urls.node(org.id, id, title)}>{title}</a>
  return {
    ...{ kind: 'page', facts: { at, results, number }, place: { org, crumb: node.title } },
    head: { title: `Update links to ${to} · ${org.name}`, noIndex: true },
    body: () => (
      <main id="main" class="page renaming">
        <NodePath visit={visit} at={at} />
        <h1>Update links</h1>
        {results.length === 0 && <p class="lede">You have selected no page, so nothing was changed.</p>}
        <ResultList title={`Updated: ${plural(done.length, 'page')}`} of={done} item={page} />
        <ResultList title={`Proposed: ${plural(proposed.length, 'page')}`} of={proposed} item={page} />
        {number !== undefined && (
          <p>
            <a class="btn" href={urls.changeSet(org.id, number)}>
              Open proposal #{number}
            </a>
          </p>
        )}
        <ResultList
          title={`Not updated: ${plural(failed.length, 'page')}`}
          of={failed}
          item={(one) => (
            <>
              {page(one)}
              {one.outcome.kind === 'failed' && <span class="why"> {one.outcome.why}</span>}
            </>
          )}
        />
        <div class="editor-acts">
          <a class="btn go" href={urls.node(org.id, node.id)}>
            Open {to}
          </a>
          <a class="btn" href={urls.rename(org.id, node.id, from)}>
            {failed.length > 0 ? 'Try again' : 'Show links with the old name'}
          </a>
        </div>
      </main>
    ),
  }
}

interface ResultsProps {
  readonly title: string
  readonly of: readonly Result[]
  readonly item: (one: Result) => preact.ComponentChild
}

function ResultList({ title, of, item }: ResultsProps) {
  if (of.length === 0) return null
  return (
    <section>
      <h2>{title}</h2>
      <ul>
        {of.map((one) => (
          <li>{item(one)}</li>
        ))}
      </ul>
    </section>
  )
}

function refused(visit: PageContext, at: AtNode, says: string): Page {
  const { org, node } = at
  const isReader = !mayPropose(org.role)
  return {
    ...{ kind: 'page', status: isReader ? 403 : 200, facts: { at, says }, place: { org, crumb: node.title } },
    head: { title: `Update links to ${node.title} · ${org.name}`, noIndex: true },
    body: () => (
      <RefusedPage title={node.title} says={says} back={visit.urls.node(org.id, node.id)}>
        <NodePath visit={visit} at={at} />
      </RefusedPage>
    ),
  }
}
