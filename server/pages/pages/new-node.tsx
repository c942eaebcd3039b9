/** Creating a node. `?title=`: the name in a link. `?parent=`: its parent. `?from=`: the node that links to it. */

import { randomUUID } from 'node:crypto'
import { AppError } from '../../base/errors.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { createNode, newItem, withLineEnds } from '../edits.ts'
import { codeOf } from '../error-codes.ts'
import { connectLink, nodesNamed } from '../linking.ts'
import { type Page, type PageContext, type PageResult, param, redirect } from '../page-context.ts'
import {
  BeginText,
  type ContinuedDraft,
  dataOfDraft,
  discardContinued,
  readContinued,
  writtenOf,
} from '../parts/continued-draft.tsx'
import { unlessBusy } from '../parts/degraded.ts'
import {
  changedFields,
  EditorForm,
  most,
  problemOf,
  RefusedPage,
  type Written,
  writtenIn,
} from '../parts/editor-form.tsx'
import { editorKeys } from '../parts/editor-toolbar.tsx'
import { IntoField } from '../parts/into-field.tsx'
import { mayPropose, mayWrite } from '../parts/rights.ts'
import { notForNewPages } from '../parts/rule-form.tsx'
import { readTypeChoice, TypeChoice } from '../parts/type-choice.tsx'
import { WhoMerges } from '../parts/who-merges.tsx'
import { panelOf } from '../properties.ts'
import { intoIn, newSet, proposeNew } from '../proposing.ts'
import type { Urls } from '../urls.ts'
import { showNewTyped, takeNewTyped } from './new-typed.tsx'

type Org = AnswerOf<'getOrg'>

/** The context of a new node. */
interface Beginning {
  readonly org: Org
  readonly parent: Near | undefined
  readonly from: Near | undefined
}

/** A node that the new one will be near. */
interface Near {
  readonly id: string
  readonly title: string
  /** True if its `main` changes only by proposals. */
  readonly isRuled: boolean
  /** True if pages below it are created only by proposals. */
  readonly isGuarded: boolean
}

export async function showNew(visit: PageContext): Promise<Page> {
  if (visit.query.has('type')) return showNewTyped(visit)
  if (visit.person === undefined) throw new AppError('unauthenticated', 'Sign in to create a page')
  const draft = await readContinued(visit)
  const beginning = draft
    ? await readBeginning(visit, new URLSearchParams(draft.form), 'or without')
    : await readBeginning(visit, visit.query)
  const { org } = beginning
  if (!mayPropose(org.role)) return refused(visit, org)
  const none = panelOf({ tags: [], properties: {} })
  if (draft) {
    const named = new URLSearchParams(draft.form).get('named') ?? undefined
    return newPage(visit, beginning, { id: draft.node_id, named, written: writtenOf(draft, none), draft })
  }
  const title = (visit.query.get('title') ?? '').trim().slice(0, most.title)
  const [existing, types] = await Promise.all([twinsOf(visit, org, title), readTypeChoice(visit, org.id)])
  const written = { title, text: '', message: '', panel: none }
  return newPage(visit, beginning, { id: randomUUID(), existing, types, named: title, written })
}

export async function takeNew(visit: PageContext): Promise<PageResult> {
  return discardContinued(visit, await createPage(visit))
}

async function createPage(visit: PageContext): Promise<PageResult> {
  const { api, urls, form } = visit
  if (form.has('type')) return takeNewTyped(visit)
  const sent = writtenIn(visit)
  const written = { ...sent, text: withLineEnds(sent.text, false) }
  const id = form.get('id') ?? ''
  if (visit.person === undefined) return signedOutPage(visit, { id, written })
  const beginning = await readBeginning(visit, form)
  const { org, parent, from } = beginning
  const named = form.get('named') || undefined
  try {
    const existing = form.get('existing')
    if (form.get('act') === 'link' && existing && from && named) {
      await connectLink(api, { org_id: org.id, node_id: from.id }, named, existing)
      return redirect(303, urls.node(org.id, from.id))
    }
    const existingNow = form.get('act') === 'create' ? await twinsOf(visit, org, written.title, id) : []
    if (existingNow.length > 0)
      return newPage(visit, beginning, {
        ...{ id, named, written, existing: existingNow, status: 409 },
        problem: 'A page with this title already exists. Change the title, or create a second page.',
      })
    const edit = { ...written, files: [], fields: changedFields(written) }
    if (form.get('act') === 'create-proposal') {
      const node = await newItem(api, org.id, { id, parent: parent?.id, ...edit })
      const into = intoIn((name) => form.get(name), node.message) ?? newSet(node.message)
      return redirect(303, urls.inSet(org.id, await proposeNew(api, org.id, into, node), id))
    }
    await createNode(api, org.id, { id, parent: parent?.id, from: from?.id, named, ...edit })
  } catch (error) {
    const [problem, status] = problemOf(error)
    return newPage(visit, beginning, { id, named, written, problem, status })
  }
  return redirect(303, urls.node(org.id, id, written.title))
}

type Twins = Awaited<ReturnType<typeof nodesNamed>>

/** Finds other pages with this title. If the search is busy, it returns none, because titles need not be unique. */
async function twinsOf({ api }: PageContext, org: Org, title: string, id?: string): Promise<Twins> {
  if (title === '') return []
  const twins = await unlessBusy<Twins>(nodesNamed(api, org.id, title), [], [])
  // The page itself, if the form was sent twice.
  return twins.some(({ node_id }) => node_id === id) ? [] : twins
}

/** @param gone what happens if a named page is gone. Default: node_not_found */
async function readBeginning(visit: PageContext, fields: URLSearchParams, gone?: 'or without'): Promise<Beginning> {
  const { api } = visit
  const org_id = param(visit, 'org')
  const org = await api.getOrg({ path: { org_id } })
  const named = async (name: string): Promise<Near | undefined> => {
    const node_id = fields.get(name)
    if (!node_id) return undefined
    const found = await api.getNode({ path: { org_id, node_id } }).catch((error: unknown) => {
      if (gone === undefined || codeOf(error) !== 'node_not_found') throw error
    })
    if (found === undefined) return undefined
    const { id, title, ...node } = found
    const { main_needs_pull_request: isRuled = false, children_need_change_set: isGuarded = false } = node
    return { id, title, isRuled, isGuarded }
  }
  const [parent, from] = await Promise.all([named('parent'), named('from')])
  return { org, parent, from }
}

interface Making {
  readonly id: string
  readonly written: Written
  /** Pages with the same title. */
  readonly existing?: Twins
  /** Types to choose from. Undefined once the form was sent, because a link would lose its entries. */
  readonly types?: Awaited<ReturnType<typeof readTypeChoice>>
  /** The name in the link. */
  readonly named?: string | undefined
  readonly problem?: string
  readonly status?: number
  /** The draft that the form continues. */
  readonly draft?: ContinuedDraft | undefined
}

const save = { name: 'create', label: 'Save' } as const
const propose = { name: 'create-proposal', label: 'Propose' } as const
const another = { name: 'another', label: 'Create a second page' } as const

function newPage(visit: PageContext, beginning: Beginning, making: Making): Page {
  const { id, written, existing = [], types = [], named = '', problem, status = 200, draft } = making
  const { urls, person } = visit
  const { org, parent, from } = beginning
  const near = parent ?? from
  // Rules that hold for a page hold for the pages below it.
  const isRuled = org.rules_for_main === 'all' || parent?.isRuled === true
  const isGuarded = org.rules_for_new_nodes === 'all' || parent?.isGuarded === true
  const acts = mayWrite(org.role) && !isGuarded ? [save, ...(status === 409 ? [another] : []), propose] : [propose]
  return {
    // The id is new each time, so no browser has this page cached.
    ...{
      kind: 'page',
      status,
      facts: { beginning, id, written, existing, types, problem, draft },
      place: { org, crumb: 'New page' },
    },
    head: { title: `New page · ${org.name}`, noIndex: true },
    body: () => (
      <main id="main" class="wide editing" data-keys={editorKeys}>
        <nav class="path" aria-label="Path to this page">
          <a href={urls.org(org.id)}>{org.name}</a>
          {parent && (
            <>
              <span aria-hidden="true">›</span>
              <a href={urls.node(org.id, parent.id, parent.title)}>{parent.title}</a>
            </>
          )}
        </nav>
        <h1>{parent ? `New page under ${parent.title}` : 'New page'}</h1>
        <TypeChoice {...{ urls, types }} org={org.id} query={visit.query} />
        {from && !parent && <AtTop urls={urls} org={org} from={from} title={named || written.title} />}
        {(isRuled || !acts.includes(save)) && (
          <p class="why">
            {acts.includes(save) ? `${notForNewPages} You propose later changes` : 'You propose a new page here'}, and{' '}
            <WhoMerges {...{ urls, org, isRuled }} /> merges {acts.includes(save) ? 'them' : 'it'}.
          </p>
        )}
        {existing.length > 0 && <Existing {...{ visit, beginning, existing, named }} />}
        <EditorForm
          {...{ written, problem }}
          focus={written.title === '' ? 'title' : 'text'}
          acts={acts}
          into={<IntoField org={org} sent={visit.form} />}
          action={urls.newNode(org.id)}
          back={near ? urls.node(org.id, near.id, near.title) : urls.org(org.id)}
          hidden={{
            ...{ id, parent: parent?.id ?? '', from: from?.id ?? '', named },
            draft: draft?.id ?? visit.form.get('draft') ?? '',
          }}
          data={{
            'data-editor': '',
            'data-node': id,
            'data-draft': `${person?.id} new in ${org.id} ${near?.id ?? ''}`,
            'data-lines': 'unix',
            ...dataOfDraft(draft),
          }}
        >
          {draft && <BeginText text="" />}
        </EditorForm>
      </main>
    ),
  }
}

interface AtTopProps {
  readonly urls: Urls
  readonly org: Org
  readonly from: NonNullable<Beginning['from']>
  readonly title: string
}

/** Says where a page from a link will be, and offers the other place. */
function AtTop({ urls, org, from, title }: AtTopProps) {
  return (
    <p class="why">
      <a href={urls.node(org.id, from.id, from.title)}>{from.title}</a> links to this page, which will be at the top of{' '}
      {org.name}.{' '}
      <a href={urls.newNode(org.id, { title, from: from.id, parent: from.id })}>Put it under {from.title}</a>
    </p>
  )
}

interface ExistingProps {
  readonly visit: PageContext
  readonly beginning: Beginning
  readonly existing: Twins
  readonly named: string
}

/** Leads to the pages with this title. Offers to link to one of them instead. */
function Existing({ visit: { urls }, beginning: { org, from }, existing, named }: ExistingProps) {
  const mayLink = from && named !== '' && !from.isRuled
  return (
    <form class="notice" method="post" action={urls.newNode(org.id)}>
      {existing.length === 1 ? 'A page with this title already exists: ' : 'Pages with this title already exist: '}
      {existing.map(({ node_id, title }, at) => (
        <>
          {at > 0 && ', '}
          <a href={urls.node(org.id, node_id, title)}>{title}</a>
        </>
      ))}
      .{from?.isRuled && ` Edit ${from.title} and propose the change. Its link will then lead to this page.`}
      {mayLink && (
        <p>
          {Object.entries({ from: from.id, named, act: 'link' }).map(([name, value]) => (
            <input type="hidden" name={name} value={value} />
          ))}
          {existing.map(({ node_id }, at) => (
            <button class="btn small" type="submit" name="existing" value={node_id}>
              Link {from.title} to {existing.length === 1 ? 'this page' : `page ${at + 1}`}
            </button>
          ))}
        </p>
      )}
    </form>
  )
}

function refused({ urls }: PageContext, org: Org): Page {
  const says = 'You have read-only access.'
  return {
    ...{ kind: 'page', status: 403, facts: { org }, place: { org } },
    head: { title: `New page · ${org.name}`, noIndex: true },
    body: () => <RefusedPage title={org.name} says={says} back={urls.org(org.id)} />,
  }
}

/** Keeps the text of a user whose session ended while they were writing. */
function signedOutPage(visit: PageContext, { id, written }: Making): Page {
  const { urls, form } = visit
  const org = param(visit, 'org')
  return {
    ...{ kind: 'page', status: 401, facts: undefined, place: {} },
    head: { title: 'New page', noIndex: true },
    body: () => (
      <main id="main" class="wide editing">
        <h1>New page</h1>
        <EditorForm
          {...{ written, data: {} }}
          problem="Your session has ended. Sign in again in another tab, then submit this form again. Your text is still here."
          acts={[{ name: 'create', label: 'Save' }]}
          action={urls.newNode(org)}
          back={urls.org(org)}
          hidden={{
            ...{ id, parent: form.get('parent') ?? '', from: form.get('from') ?? '' },
            named: form.get('named') ?? '',
          }}
        />
      </main>
    ),
  }
}
