/** Editing the fields of a typed node: saving and proposing. */

import type { ComponentChildren } from 'preact'
import { AppError } from '../../../base/errors.ts'
import type { AnswerOf } from '../../../http/in-process.ts'
import type { Commit } from '../../../pages/edits.ts'
import { OvertakenError, proposeUnlessSame, saveChanges } from '../../../pages/node-changes.ts'
import { type Page, type PageContext, type PageResult, param, redirect } from '../../../pages/page-context.ts'
import { type Act, RefusedPage } from '../../../pages/parts/editor-form.tsx'
import { FieldInputs } from '../../../pages/parts/field-form.tsx'
import { type LinkState, linkChangeOf, linkFiles, readLinks, withSentLinks } from '../../../pages/parts/field-links.ts'
import { changeOf, type FieldState, isInForm, isSame, stateOf, withSent } from '../../../pages/parts/field-state.ts'
import { type FieldRefusal, problemsBy, refusalOf, type Wrongs } from '../../../pages/parts/field-wrongs.ts'
import { IntoField } from '../../../pages/parts/into-field.tsx'
import { keptForm } from '../../../pages/parts/kept-form.tsx'
import { fieldsUrl } from '../../../pages/parts/node-fields.tsx'
import { type AtNode, NodePath, readAtNode } from '../../../pages/parts/node-head.tsx'
import { whatChanged } from '../../../pages/parts/overtaken.ts'
import { mayPropose, maySave } from '../../../pages/parts/rights.ts'
import { WhoMerges } from '../../../pages/parts/who-merges.tsx'
import { intoIn, proposePages } from '../../../pages/proposing.ts'
import { withProperties } from '../../../pages/text/json-members.ts'
import { connectionsOf, fieldsOf } from '../../../pages/text/type-labels.ts'

type NodeType = AnswerOf<'getType'>
type Properties = Readonly<Record<string, unknown>>

/** The form, and the version that it began with. */
interface Form {
  readonly visit: PageContext
  readonly at: AtNode
  readonly type: NodeType
  readonly head: string
  readonly states: readonly FieldState[]
  readonly links: readonly LinkState[]
}

export async function showFields(visit: PageContext): Promise<Page> {
  if (visit.person === undefined) throw new AppError('unauthenticated', 'Sign in to edit')
  const read = await readForm(visit)
  return 'says' in read ? refusedPage(visit, read) : formPage(read)
}

export async function takeFields(visit: PageContext): Promise<PageResult> {
  const { urls, form } = visit
  if (visit.person === undefined) return keptForm(visit, fieldsUrl(urls, param(visit, 'org'), param(visit, 'node')))
  const head = form.get('head') ?? ''
  if (!/^[0-9a-f]{40}$/.test(head)) throw new AppError('bad_request', 'The form does not name a valid commit')
  const before = await readForm(visit, head)
  if ('says' in before) return refusedPage(visit, before)
  const { org, node } = before.at
  const sent = await readSent(before)
  const wrongs = wrongsOf(before, sent)
  if (wrongs.size > 0 || sent.links.some(({ asks }) => asks.length > 0)) {
    const says = 'Nothing was saved. Correct the marked fields, and save again.'
    return formPage(sent, { status: 422, says, wrongs })
  }
  try {
    const commit = await commitOf(before, sent)
    if (commit.changes.length === 0) return redirect(303, urls.node(org.id, node.id, node.title))
    const into = visit.form.get('act') === 'propose' && intoIn((name) => form.get(name), commit.message)
    if (into) {
      const item = { id: node.id, expected_head: head, ...commit }
      return redirect(303, urls.inSet(org.id, await proposePages(visit.api, org.id, into, { nodes: [item] }), node.id))
    }
    const number = await store(before, commit)
    return redirect(
      303,
      number === undefined ? urls.node(org.id, node.id, node.title) : urls.proposal(org.id, node.id, number),
    )
  } catch (error) {
    if (error instanceof OvertakenError) return overtakenPage(before, sent, error)
    return formPage(sent, refusalOf(before.type, error))
  }
}

/** Saves or proposes, as the button says. @returns the number of the proposal */
async function store({ visit, at, head }: Form, commit: Commit): Promise<number | undefined> {
  const { api, form } = visit
  if (form.get('act') !== 'propose' && maySave(at.org, at.node)) {
    await saveChanges(api, at.path, head, commit)
    return undefined
  }
  const from = { head, slug: at.node.slug, branches: at.org.branch_prefix }
  return proposeUnlessSame(api, at.path, from, commit)
}

interface Unfit {
  readonly at: AtNode
  readonly says: string
  readonly status: number
}

/** Reads the node with its type. @param head the version that the form began with. Default: that of now */
async function readForm(visit: PageContext, head?: string): Promise<Form | Unfit> {
  const { api } = visit
  const at = await readAtNode(visit)
  const { node, org } = at
  if (!mayPropose(org.role))
    return { at, status: 403, says: 'You need the contributor role to propose changes of this page.' }
  if (node.head === undefined) return { at, status: 409, says: 'This page has no commits yet. Write a text first.' }
  if (node.type === null)
    return { at, status: 409, says: 'This page has no type, so it has no fields. Its settings have its properties.' }
  const type = await api.getType({ path: { org_id: org.id, type_name: node.type } })
  const begun = head ?? node.head
  const properties = begun === node.head ? node.properties : propertiesIn(await readJson(api, at, begun))
  const fields = fieldsOf(type.definition).filter(isInForm)
  return {
    ...{ visit, at, type, head: begun },
    states: fields.map((field) => stateOf(field, propertyIn(properties, field.name))),
    links: await readLinks(api, org.id, connectionsOf(type.definition), node),
  }
}

function propertyIn(properties: Properties, name: string): unknown {
  return Object.hasOwn(properties, name) ? properties[name] : undefined
}

async function readJson(api: PageContext['api'], { path }: AtNode, head: string): Promise<string> {
  return (await api.getFile({ path: { ...path, branch: head, path: 'node.json' } })).content
}

function propertiesIn(json: string): Properties {
  const { properties = {} }: { properties?: Properties } = JSON.parse(json)
  return properties
}

async function readSent(form: Form): Promise<Form> {
  const { visit, at, states, links } = form
  return {
    ...form,
    states: states.map((state) => withSent(state, visit.form)),
    links: await Promise.all(links.map((state) => withSentLinks(visit.api, at.org.id, state, visit.form))),
  }
}

/** Returns what the form itself finds wrong. */
function wrongsOf(before: Form, sent: Form): Map<string, string[]> {
  const wrongs = new Map<string, string[]>()
  for (const [n, state] of sent.states.entries()) {
    const meaning = changeOf(before.states[n] ?? state, state)
    if (meaning && 'says' in meaning) wrongs.set(`properties/${state.field.name}`, [`This ${meaning.says}`])
  }
  return wrongs
}

async function commitOf(before: Form, sent: Form): Promise<Commit> {
  const { visit, at, head } = before
  const changes = new Map<string, string | undefined>()
  for (const [n, state] of sent.states.entries()) {
    const meaning = changeOf(before.states[n] ?? state, state)
    if (meaning && 'json' in meaning) changes.set(state.field.name, meaning.json)
  }
  const json = changes.size === 0 ? '' : withProperties(await readJson(visit.api, at, head), changes)
  return {
    message: `Edit the fields of ${at.node.title}`,
    changes: [
      ...(json === '' ? [] : [{ action: 'put' as const, path: 'node.json', content: json }]),
      ...sent.links.flatMap((state) => linkFiles(linkChangeOf(state))),
    ],
  }
}

/** Shows the current version with the fields that the visitor has changed. */
async function overtakenPage(before: Form, sent: Form, error: OvertakenError): Promise<PageResult> {
  const now = await readForm(before.visit)
  if ('says' in now) return refusedPage(before.visit, now)
  const changes = await whatChanged(before.visit.api, before.at.path, before.head, error)
  const states = now.states.map((state) => {
    const [old, typed] = [before, sent].map(({ states: all }) =>
      all.find(({ field }) => field.name === state.field.name),
    )
    return old && typed && !isSame(old, typed) ? { ...typed, field: state.field, value: state.value } : state
  })
  return formPage(
    { ...now, states, links: sent.links },
    {
      ...{ status: 409, changes, wrongs: new Map() },
      says: 'This page has changed since you opened it. Nothing was saved, and your input is still here. Changed:',
    },
  )
}

function formPage({ visit, at, type, head, states, links }: Form, refusal?: FieldRefusal): Page {
  const { urls } = visit
  const { org, node } = at
  const acts: readonly Act[] = maySave(org, node)
    ? [
        { name: 'save', label: 'Save' },
        { name: 'propose', label: 'Propose changes' },
      ]
    : [{ name: 'propose', label: 'Propose changes' }]
  const wrongs = refusal?.wrongs ?? problemsBy(type, node.type_problems)
  return {
    ...{ kind: 'page', status: refusal?.status ?? 200, place: { org, node: node.id, crumb: node.title } },
    facts: { at, type, head, states, links, refusal: refusal && { ...refusal, wrongs: [...wrongs] } },
    head: { title: `Fields of ${node.title} · ${org.name}`, noIndex: true },
    body: () => (
      <main id="main" class="page settings field-page">
        <NodePath visit={visit} at={at} />
        <h1>Fields of {node.title}</h1>
        {!maySave(org, node) && (
          <p class="notice">
            You propose changes here, and{' '}
            <WhoMerges urls={urls} org={org} isRuled={node.main_needs_pull_request === true} /> merges them.
          </p>
        )}
        {refusal && <Trouble refusal={refusal} />}
        <form class="fields" method="post" action={fieldsUrl(urls, org.id, node.id)}>
          <input type="hidden" name="head" value={head} />
          <FieldInputs {...{ urls, states, links, wrongs }} org={org.id} />
          <Rest {...{ wrongs, states, links }} />
          <ActButtons acts={acts}>
            <IntoField org={org} sent={visit.form} />
            <a class="btn quiet" href={urls.node(org.id, node.id, node.title)}>
              Cancel
            </a>
          </ActButtons>
        </form>
        <p class="why">
          Other properties stay as they are.{' '}
          <a href={urls.nodeSettings(org.id, node.id, 'properties')}>All properties</a>
        </p>
      </main>
    ),
  }
}

function Trouble({ refusal: { says, changes = [] } }: { readonly refusal: FieldRefusal }) {
  return (
    <div class="problem" role="alert">
      <p>{says}</p>
      {changes.length > 0 && (
        <ul>
          {changes.map((change) => (
            <li>{change}</li>
          ))}
        </ul>
      )}
    </div>
  )
}

/** The problems of places that the form has no input for. */
function Rest({ wrongs, states, links }: Pick<Form, 'states' | 'links'> & { readonly wrongs: Wrongs }) {
  const shown = new Set([
    ...states.map(({ field }) => `properties/${field.name}`),
    ...links.map(({ connection }) => `connections/${connection.name}`),
  ])
  return (
    <>
      {[...wrongs]
        .flatMap(([key, some]) => (shown.has(key) ? [] : some))
        .map((says) => (
          <p class="wrong">{says}</p>
        ))}
    </>
  )
}

function ActButtons({ acts, children }: { readonly acts: readonly Act[]; readonly children: ComponentChildren }) {
  return (
    <div class="editor-acts">
      {acts.map(({ name, label }, at) => (
        <button class={at === 0 ? 'btn go' : 'btn'} type="submit" name="act" value={name}>
          {label}
        </button>
      ))}
      {children}
    </div>
  )
}

function refusedPage(visit: PageContext, { at, says, status }: Unfit): Page {
  const { org, node } = at
  return {
    ...{ kind: 'page', status, facts: { at, says }, place: { org, crumb: node.title } },
    head: { title: `Fields of ${node.title} · ${org.name}`, noIndex: true },
    body: () => (
      <RefusedPage title={node.title} says={says} back={visit.urls.node(org.id, node.id, node.title)}>
        <NodePath visit={visit} at={at} />
      </RefusedPage>
    ),
  }
}
