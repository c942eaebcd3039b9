/** Creating a node of a type: `?type=`. Its fields begin with the template and the defaults. */

import { randomUUID } from 'node:crypto'
import { AppError } from '../../base/errors.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { newMessage, withLineEnds } from '../edits.ts'
import { codeOf } from '../error-codes.ts'
import { linkChanges } from '../linking.ts'
import { type Page, type PageContext, type PageResult, param, redirect } from '../page-context.ts'
import { most } from '../parts/editor-form.tsx'
import { FieldInputs } from '../parts/field-form.tsx'
import { type LinkState, linkChangeOf, readLinks, withSentLinks } from '../parts/field-links.ts'
import { changeOf, type FieldState, isInForm, stateOf, withSent } from '../parts/field-state.ts'
import { type FieldRefusal, refusalOf } from '../parts/field-wrongs.ts'
import { IntoField } from '../parts/into-field.tsx'
import { keptForm } from '../parts/kept-form.tsx'
import { mayPropose, mayWrite } from '../parts/rights.ts'
import { pluralOf } from '../parts/type-links.tsx'
import { tagsIn, tagsText } from '../properties.ts'
import { intoIn, newSet, proposeNew } from '../proposing.ts'
import { connectionsOf, fieldsOf } from '../text/type-labels.ts'

type Org = AnswerOf<'getOrg'>
type NodeType = AnswerOf<'getType'>

/** The form of a new node. */
interface Making {
  readonly visit: PageContext
  readonly org: Org
  readonly type: NodeType
  /** Chosen with the form, so that a form that is sent twice makes one node. */
  readonly id: string
  /** The id of its parent; empty: at the top. */
  readonly parent: string
  readonly title: string
  readonly text: string
  /** Separated by commas. */
  readonly tags: string
  readonly states: readonly FieldState[]
  readonly links: readonly LinkState[]
}

export async function showNewTyped(visit: PageContext): Promise<Page> {
  const title = (visit.query.get('title') ?? '').trim().slice(0, most.title)
  return newPage({ ...(await readMaking(visit, visit.query.get('type') ?? '')), title })
}

export async function takeNewTyped(visit: PageContext): Promise<PageResult> {
  const { urls, form } = visit
  if (visit.person === undefined) return keptForm(visit, urls.newNode(param(visit, 'org')))
  const begun = await readMaking(visit, form.get('type') ?? '')
  const sent = await readSent(begun)
  const { org, id, title } = sent
  const wrongs = wrongsOf(sent)
  if (wrongs.size > 0 || sent.links.some(({ asks }) => asks.length > 0))
    return newPage(sent, { status: 422, wrongs, says: 'Nothing was saved. Correct the marked fields, and save again.' })
  try {
    const node = await nodeOf(sent)
    if (form.get('act') === 'propose') {
      const into = intoIn((name) => form.get(name), node.message) ?? newSet(node.message)
      return redirect(303, urls.inSet(org.id, await proposeNew(visit.api, org.id, into, node), id))
    }
    await create(sent, node)
  } catch (error) {
    return newPage(sent, refusalOf(begun.type, error))
  }
  return redirect(303, form.get('act') === 'create-edit' ? urls.edit(org.id, id) : urls.node(org.id, id, title))
}

/** Reads the type, and what its template and its defaults fill in. */
async function readMaking(visit: PageContext, name: string): Promise<Making> {
  const { api } = visit
  if (visit.person === undefined) throw new AppError('unauthenticated', 'Sign in to create a page')
  const path = { org_id: param(visit, 'org') }
  const org = await api.getOrg({ path })
  if (!mayPropose(org.role)) throw new AppError('forbidden', 'You need the contributor role to propose pages here')
  const type = await api.getType({ path: { ...path, type_name: name } })
  const { definition } = type
  const { text_content = '', tags = [], properties = {} } = definition.template ?? {}
  return {
    ...{
      visit,
      org,
      type,
      id: randomUUID(),
      parent: visit.query.get('parent') ?? '',
      title: '',
      text: text_content,
      tags: tagsText(tags),
    },
    states: fieldsOf(definition)
      .filter(isInForm)
      .map((field) =>
        stateOf(field, Object.hasOwn(properties, field.name) ? properties[field.name] : field.schema.default),
      ),
    links: await readLinks(api, org.id, connectionsOf(definition), undefined),
  }
}

async function readSent(making: Making): Promise<Making> {
  const { visit, org, states, links } = making
  const { form, api } = visit
  return {
    ...making,
    id: form.get('id') ?? making.id,
    parent: form.get('parent') ?? '',
    title: (form.get('title') ?? '').trim().slice(0, most.title),
    text: withLineEnds(form.get('text') ?? '', false),
    tags: form.get('tags') ?? '',
    states: states.map((state) => withSent(state, form)),
    links: await Promise.all(links.map((state) => withSentLinks(api, org.id, state, form))),
  }
}

/** Reads a field as one of a node that has no value yet. */
function meaningOf(state: FieldState) {
  return changeOf(stateOf(state.field, undefined), state)
}

function wrongsOf({ states }: Making): Map<string, string[]> {
  const wrongs = new Map<string, string[]>()
  for (const state of states) {
    const meaning = meaningOf(state)
    if (meaning && 'says' in meaning) wrongs.set(`properties/${state.field.name}`, [`This ${meaning.says}`])
  }
  return wrongs
}

/** Returns the node with its connections. A template property without an input is part of it. */
async function nodeOf({ visit, org, type, id, parent, title, text, tags, states, links }: Making) {
  const { api } = visit
  const { template = {} } = type.definition
  const shown = new Set(states.map(({ field }) => field.name))
  const hidden = Object.entries(template.properties ?? {}).filter(([name]) => !shown.has(name))
  const values = states.flatMap((state): [string, unknown][] => {
    const meaning = meaningOf(state)
    return meaning && 'json' in meaning && meaning.json !== undefined
      ? [[state.field.name, JSON.parse(meaning.json)]]
      : []
  })
  const inText = await linkChanges(api, { org_id: org.id, node_id: id }, { head: null, text })
  return {
    ...{ id, title, text_content: text, tags: tagsIn(tags), message: newMessage(title) },
    properties: Object.fromEntries([['type', type.name], ...values, ...hidden]),
    connections: [...inText.added, ...links.flatMap((state) => [...linkChangeOf(state).added])],
    ...(parent !== '' && { parents: [parent] }),
  }
}

/** Creates the node in one commit. */
async function create(
  { visit: { api }, org, id, title }: Making,
  node: Awaited<ReturnType<typeof nodeOf>>,
): Promise<void> {
  await api.createNodes({ path: { org_id: org.id }, body: { nodes: [node] } }).catch(async (error: unknown) => {
    // The form was sent twice, and the first request has created the node.
    if (codeOf(error) !== 'node_exists') throw error
    const made = await api.getNode({ path: { org_id: org.id, node_id: id } })
    if (made.title !== title || made.created_at !== made.updated_at) throw error
  })
}

function newPage(making: Making, refusal?: FieldRefusal): Page {
  const { visit, org, type, id, parent, title, text, tags, states, links } = making
  const { urls } = visit
  const heading = `New page: ${type.definition.title}`
  // A rule for some pages is known when the page is sent.
  const maySaveIt = mayWrite(org.role) && org.rules_for_new_nodes !== 'all'
  const wrongs = refusal?.wrongs ?? new Map<string, string[]>()
  return {
    ...{ kind: 'page', status: refusal?.status ?? 200, place: { org, crumb: heading } },
    // The id is new each time, so no browser has this page cached.
    facts: { org, type, id, refusal: refusal?.says },
    head: { title: `${heading} · ${org.name}`, noIndex: true },
    body: () => (
      <main id="main" class="page settings field-page">
        <nav class="path" aria-label="Path to this page">
          <a href={urls.table(org.id, {}, type.name)}>{pluralOf(type)}</a>
        </nav>
        <h1>{heading}</h1>
        {refusal && (
          <p class="problem" role="alert">
            {refusal.says}
          </p>
        )}
        <form class="fields" method="post" action={urls.newNode(org.id)}>
          <input type="hidden" name="id" value={id} />
          <input type="hidden" name="type" value={type.name} />
          <input type="hidden" name="parent" value={parent} />
          <Begin title={title} />
          <FieldInputs {...{ urls, states, links, wrongs }} org={org.id} />
          <End {...{ text, tags }} />
          <div class="editor-acts">
            {maySaveIt && (
              <>
                <button class="btn go" type="submit" name="act" value="create">
                  Save
                </button>
                <button class="btn" type="submit" name="act" value="create-edit">
                  Save and open the editor
                </button>
              </>
            )}
            <button class={maySaveIt ? 'btn' : 'btn go'} type="submit" name="act" value="propose">
              Propose
            </button>
            <IntoField org={org} sent={visit.form} />
            <a class="btn quiet" href={urls.table(org.id, {}, type.name)}>
              Cancel
            </a>
          </div>
        </form>
      </main>
    ),
  }
}

function Begin({ title }: { readonly title: string }) {
  return (
    <div class="field">
      <label for="new-title">Title</label>
      <input id="new-title" name="title" value={title} maxLength={most.title} required autocomplete="off" />
    </div>
  )
}

/** The text and the tags. The editor adds pictures to the text later. */
function End({ text, tags }: Pick<Making, 'text' | 'tags'>) {
  return (
    <>
      <div class="field">
        <label for="new-tags">
          Tags <small>separated by commas</small>
        </label>
        <input id="new-tags" name="tags" value={tags} autocomplete="off" />
      </div>
      <div class="field">
        <label for="new-text">
          Text <small>Markdown. To add pictures, save and open the editor.</small>
        </label>
        <textarea id="new-text" name="text" rows={12} spellcheck>{`\n${text}`}</textarea>
      </div>
    </>
  )
}
