/** The settings of one type: its definition, the effect of a change, history and deletion. */

import { AppError, ValidationError } from '../../../base/errors.ts'
import * as limits from '../../../base/limits.ts'
import type { AnswerOf } from '../../../http/in-process.ts'
import { readAsMember, SettingsTabs } from '../../../pages/kit/scene-frames.tsx'
import { type Page, type PageContext, type PageResult, redirect } from '../../../pages/page-context.ts'
import { plural, When } from '../../../pages/parts/dates.tsx'
import { countOpen, OrgTabs } from '../../../pages/parts/org-tabs.tsx'
import { mayDelete } from '../../../pages/parts/rights.ts'
import { asSentence } from '../../../pages/text/broken-rules.ts'
import type { Urls } from '../../../pages/urls.ts'
import type { Faults, TypeNames } from './type-definition.ts'
import { afterRowAct, definitionIn, draftIn, formView, jsonView, nameIn } from './type-draft.ts'
import { faultsOfProblems } from './type-faults.ts'
import { emptyField, type TypeDefinition } from './type-fields.ts'
import { type TypeDraft, TypeForm } from './type-form.tsx'
import { type Impact, ImpactOf, TypeHistory } from './type-impact.tsx'
import { shapedDefinition } from './type-shape.ts'

type Org = AnswerOf<'getOrg'>
type NodeType = AnswerOf<'getType'>

/** Changes in the history. */
const mostChanges = 10

/** The address of the settings of a type. `new` is the page of a new type, unless the query says otherwise. */
export function typeUrl(urls: Urls, org: string, name: string): string {
  return name === 'new' ? `${urls.typeSettings(org, name)}?edit` : urls.typeSettings(org, name)
}

/** The name of the type of a visit. Undefined on the page of a new type. */
function knownIn({ params, query }: PageContext): string | undefined {
  return params.type ?? (query.has('edit') ? 'new' : undefined)
}

export async function showType(visit: PageContext): Promise<Page> {
  const known = knownIn(visit)
  const org = await readAsMember(visit)
  const isJson = visit.query.get('as') === 'json'
  if (known === undefined) {
    const base = newDefinition(visit.query.get('name') ?? '')
    const view = isJson ? jsonView({ ...base, schema: { properties: {} } }) : withOneRow(formView(base))
    return typePage(visit, org, { draft: { known, name: '', version: '', broken: undefined, view } })
  }
  const type = await visit.api.getType({ path: { org_id: org.id, type_name: known } })
  const view = isJson ? jsonView(type.definition) : formView(type.definition)
  return typePage(visit, org, { draft: { known, name: known, version: type.version, broken: undefined, view }, type })
}

/** Returns a definition for a text that nodes have as their type. */
function newDefinition(text: string): TypeDefinition {
  const title = text.trim().slice(0, 100)
  const first = title.replace(/^\p{Ll}/u, (letter) => letter.toUpperCase())
  const isName = /^[a-z][a-z0-9_-]*$/i.test(title)
  return { title: first, ...(title !== '' && !isName && title.length <= 64 && { aliases: [title] }) }
}

/** A new type begins with an empty row, which shows what a field has. */
function withOneRow(view: TypeDraft['view']): TypeDraft['view'] {
  return view.as === 'json' ? view : { ...view, fields: { ...view.fields, fields: [emptyField] } }
}

export async function takeType(visit: PageContext): Promise<PageResult> {
  const { form } = visit
  const act = form.get('act') ?? ''
  const known = knownIn(visit)
  const org = await readAsMember(visit)
  if (act === 'delete' && known !== undefined) return deleteType(visit, org, known)
  const draft = draftIn(form, known)
  if (draft === undefined) throw new AppError('bad_request', 'The form is not complete; open the page again')
  const moved = afterRowAct(draft, act)
  if (moved) return typePage(visit, org, { draft: moved })
  return new Taking(visit, org, draft, await readNames(visit, org)).act(act)
}

/** Reads the names that users may write for a type. */
async function readNames({ api }: PageContext, org: Org): Promise<TypeNames> {
  const { types } = await api.listTypes({ path: { org_id: org.id }, query: { limit: limits.types } })
  const names = new Map<string, string>()
  for (const { name, definition } of types)
    for (const one of [name, definition.title, definition.plural ?? '', ...(definition.aliases ?? [])])
      if (!names.has(one.toLowerCase())) names.set(one.toLowerCase(), name)
  return (text) => names.get(text.toLowerCase()) ?? text
}

const noName: Faults = new Map([['name', ['Enter a name, because the title has no letters from a to z.']]])

/** One sent form, whose definition is checked or saved. */
class Taking {
  private readonly visit: PageContext
  private readonly org: Org
  private readonly draft: TypeDraft
  private readonly definition: TypeDefinition
  private readonly faults: Faults
  private readonly name: string

  constructor(visit: PageContext, org: Org, draft: TypeDraft, nameOf: TypeNames) {
    this.visit = visit
    this.org = org
    this.draft = draft
    const { definition, faults } = definitionIn(draft, nameOf)
    this.definition = definition
    this.name = nameIn(draft, definition)
    this.faults = faults.size === 0 && this.name === '' ? noName : faults
  }

  async act(act: string): Promise<PageResult> {
    if (!['check', 'save', 'as-json', 'as-form'].includes(act))
      throw new AppError('bad_request', 'The form does not name a known action')
    const { draft, definition } = this
    if (act === 'as-json' && this.isReadable()) return this.page({ draft: { ...draft, view: jsonView(definition) } })
    if (this.faults.size > 0 && !(act === 'as-form' && this.isReadable())) return this.faulty(this.faults)
    try {
      if (act === 'as-form') return await this.showForm()
      if (act === 'save') return await this.save()
      return await this.checked({})
    } catch (error) {
      if (error instanceof ValidationError) return this.faulty(this.faultsOf(error))
      if (error instanceof AppError && error.code === 'too_many_types')
        return { ...(await this.faulty(new Map([['', [asSentence(error.message)]]]))), status: 409 }
      throw error
    }
  }

  /** True if only the name has a fault, which another view also shows. */
  private isReadable(): boolean {
    return this.faults.size === 0 || this.faults === noName
  }

  private faultsOf({ problems }: ValidationError): Faults {
    const { view } = this.draft
    return faultsOfProblems(problems, view.as === 'form' ? view.fields : undefined)
  }

  private get path() {
    return { org_id: this.org.id, type_name: this.name }
  }

  private page(more: Partial<Shown>): Promise<Page> {
    return typePage(this.visit, this.org, { draft: this.draft, ...more })
  }

  private async faulty(faults: Faults): Promise<Page> {
    return { ...(await this.page({ faults, isRefused: this.visit.form.get('act') === 'save' })), status: 422 }
  }

  /** Shows the form for JSON, if it can. The API names what it cannot read. */
  private async showForm(): Promise<Page> {
    const base = shapedDefinition(JSON.stringify(this.definition))
    if (base) return this.page({ draft: { ...this.draft, view: formView(base) } })
    await this.check()
    throw new AppError('bad_request', 'The form cannot show this definition')
  }

  private check(): Promise<Impact> {
    return this.visit.api.checkType({ path: this.path, body: { definition: this.definition } })
  }

  /** Shows what the definition would change. */
  private async checked(more: Partial<Shown>): Promise<Page> {
    const impact = await this.check()
    return this.page({ ...more, impact, draft: { ...this.draft, ...more.draft, broken: impact.newly_broken } })
  }

  private async save(): Promise<PageResult> {
    const { draft, definition } = this
    try {
      await this.visit.api.putType({
        path: this.path,
        body: { definition, expected_version: draft.version || null, max_newly_broken: draft.broken ?? 0 },
      })
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      if (error.code === 'impact_changed') return this.afterImpact()
      if (error.code === 'version_moved') return this.afterMove()
      throw error
    }
    return this.saved()
  }

  private saved(): PageResult {
    const url = typeUrl(this.visit.urls, this.org.id, this.name)
    return redirect(303, `${url}${url.includes('?') ? '&' : '?'}saved`)
  }

  private async afterImpact(): Promise<Page> {
    const notice =
      this.draft.broken === undefined
        ? 'Nothing was saved yet, because pages would newly break their rules. They are listed below. If that is right, save again.'
        : 'Nothing was saved, because more pages would break than you were shown. The numbers below are new. If they are right, save again.'
    return { ...(await this.checked({ notice })), status: 409 }
  }

  /** Shows that somebody else changed the type. If it is what the form has, the form was sent twice. */
  private async afterMove(): Promise<PageResult> {
    const { draft, definition } = this
    const now = await this.readNow()
    if (now && JSON.stringify(now.definition) === JSON.stringify(definition)) return this.saved()
    if (draft.known === undefined) {
      const says = 'A type with this name already exists. Enter another name, or change that type.'
      return { ...(await this.faulty(new Map([['name', [says]]]))), status: 409 }
    }
    const notice = now
      ? 'Nothing was saved, because somebody changed this type since you opened it. Your entries are below. If you save again, they replace what is saved now.'
      : 'Nothing was saved, because somebody deleted this type since you opened it. If you save again, it is defined again.'
    const moved = { ...draft, version: now?.version ?? '' }
    return { ...(await this.checked({ notice, draft: moved, ...(now && { now }) })), status: 409 }
  }

  private async readNow(): Promise<NodeType | undefined> {
    try {
      return await this.visit.api.getType({ path: this.path })
    } catch (error) {
      if (error instanceof AppError && error.code === 'type_not_found') return undefined
      throw error
    }
  }
}

/** Deletes a type. The form says how many pages the user was shown. */
async function deleteType(visit: PageContext, org: Org, known: string): Promise<PageResult> {
  const { api, form, urls } = visit
  const path = { org_id: org.id, type_name: known }
  const query = { expected_version: form.get('version') ?? '', force: form.get('nodes') !== '0' }
  try {
    await api.deleteType({ path, query })
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    if (error.code === 'version_moved' || error.code === 'type_in_use') {
      const notice =
        error.code === 'type_in_use'
          ? 'Nothing was deleted, because pages have this type since you opened it.'
          : 'Nothing was deleted, because somebody changed this type since you opened it.'
      const type = await api.getType({ path })
      const draft = { known, name: known, version: type.version, broken: undefined, view: formView(type.definition) }
      return { ...(await typePage(visit, org, { draft, type, notice })), status: 409 }
    }
    if (error.code !== 'type_not_found') throw error
  }
  return redirect(303, `${urls.settings(org.id, 'types')}?saved=deleted`)
}

interface Shown {
  readonly draft: TypeDraft
  /** The type as it is saved. Default: it is read. */
  readonly type?: NodeType
  /** The type that somebody else saved since the form was opened. */
  readonly now?: NodeType
  readonly faults?: Faults
  /** True if the user wanted to save. */
  readonly isRefused?: boolean
  readonly impact?: Impact
  readonly notice?: string
}

async function typePage(visit: PageContext, org: Org, shown: Shown): Promise<Page> {
  const { urls, query } = visit
  const { draft, faults = new Map(), isRefused, impact, notice, now } = shown
  const open = await countOpen(visit, org)
  const saved = await readSaved(visit, org, shown)
  const title = saved?.type.definition.title ?? (draft.known === undefined ? 'New type' : draft.known)
  const mayEdit = mayDelete(org.role)
  const action = draft.known === undefined ? urls.typeSettings(org.id, 'new') : typeUrl(urls, org.id, draft.known)
  return {
    ...{ kind: 'page', place: { org, crumb: 'Settings' } },
    facts: { org, open, saved, draft, faults: [...faults], isRefused, impact, notice },
    head: { title: `${title} · ${org.name}`, noIndex: true },
    body: () => (
      <>
        <OrgTabs {...{ urls, org, open }} here="settings" />
        <main id="main" class="page settings type-settings">
          <h1>{title}</h1>
          <SettingsTabs urls={urls} org={org.id} here="types" />
          {query.has('saved') && notice === undefined && faults.size === 0 && visit.form.size === 0 && (
            <p class="notice" role="status">
              Saved.
            </p>
          )}
          {notice !== undefined && (
            <div class="problem" role="alert">
              <p>{notice}</p>
              {now && <SavedNow type={now} history={saved?.history} />}
            </div>
          )}
          <Lead urls={urls} org={org} type={saved?.type} />
          {!mayEdit && <p>Only maintainers and owners can change types. Your role: {org.role}.</p>}
          <TypeForm {...{ draft, faults, isRefused, action, mayEdit }}>
            {impact && <ImpactOf {...{ impact, urls }} org={org.id} />}
          </TypeForm>
          {saved && mayEdit && <Deletion type={saved.type} action={action} />}
          {saved && <TypeHistory history={saved.history} />}
        </main>
      </>
    ),
  }
}

/** Reads the type as it is saved, and its history. Undefined for a new type, and one that was deleted. */
async function readSaved({ api }: PageContext, org: Org, { draft: { known }, type, now }: Shown) {
  if (known === undefined) return undefined
  const path = { org_id: org.id, type_name: known }
  try {
    const read = type ?? now ?? (await api.getType({ path }))
    return { type: read, history: await api.listTypeHistory({ path, query: { limit: mostChanges } }) }
  } catch (error) {
    if (error instanceof AppError && error.code === 'type_not_found') return undefined
    throw error
  }
}

function Lead({ urls, org, type }: { readonly urls: Urls; readonly org: Org; readonly type: NodeType | undefined }) {
  const all = <a href={urls.settings(org.id, 'types')}>All types</a>
  if (type === undefined)
    return (
      <p class="why">A type says which fields and links a page has. Readers see titles, and pages store names. {all}</p>
    )
  return (
    <p class="why">
      Pages have this type if their property “type” is <code>{type.name}</code>.{' '}
      <a href={urls.table(org.id, {}, type.name)}>{plural(type.num_nodes, 'page')}</a> ·{' '}
      <a href={urls.typeProblems(org.id, type.name)}>Problems</a> · {all}
    </p>
  )
}

type History = AnswerOf<'listTypeHistory'>

function SavedNow({ type, history }: { readonly type: NodeType; readonly history: History | undefined }) {
  const last = history?.history[0]
  return (
    <details>
      <summary>
        The saved type{' '}
        {last && (
          <>
            of {last.author}, <When time={last.created_at} />
          </>
        )}
      </summary>
      <pre class="type-json">{JSON.stringify(type.definition, null, 2)}</pre>
    </details>
  )
}

function Deletion({ type, action }: { readonly type: NodeType; readonly action: string }) {
  const { name, version, num_nodes: nodes } = type
  return (
    <section>
      <h2>Delete this type</h2>
      <details>
        <summary class="btn stop">Delete…</summary>
        <form method="post" action={action} class="ask">
          <input type="hidden" name="version" value={version} />
          <input type="hidden" name="nodes" value={nodes} />
          <p>
            {nodes === 0
              ? 'No page has this type.'
              : `${nodes === 1 ? '1 page has' : `${nodes.toLocaleString('en')} pages have`} this type. They keep their properties, and the text “${name}” as their type. Grove no longer checks their fields and links.`}
          </p>
          <button class="btn stop" type="submit" name="act" value="delete">
            Delete type
          </button>
        </form>
      </details>
    </section>
  )
}
