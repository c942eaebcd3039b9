/** The general settings of an organisation, and the page that creates one. */

import { AppError, invalid } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { readAsMember, SettingsTabs } from '../kit/scene-frames.tsx'
import { type Page, type PageContext, type PageResult, param } from '../page-context.ts'
import { ApiId } from '../parts/api-id.tsx'
import { Field, field, submitForm, type Trouble, TroubleOf } from '../parts/forms.tsx'
import { MeaningChoice, meaningChoice, meaningFacts } from '../parts/meaning-choice.tsx'
import { countOpen, OrgTabs } from '../parts/org-tabs.tsx'
import { mayDelete, mayWrite } from '../parts/rights.ts'
import { sizeOf } from '../text/sizes.ts'
import type { Urls } from '../urls.ts'
import { HomeRule } from './home-text.tsx'

type Org = AnswerOf<'getOrg'>

export function showNewOrg(visit: PageContext): Promise<Page> {
  return newOrgPage(visit)
}

export async function takeNewOrg(visit: PageContext): Promise<PageResult> {
  const { api, form, urls } = visit
  return submitForm(
    (trouble) => newOrgPage(visit, trouble),
    async () => {
      const body = { name: field(form, 'name').trim(), description: textOf(form, 'description') }
      const { id, name } = await api.createOrg({ body })
      return urls.org(id, name)
    },
  )
}

/** Reads a field with several lines, and turns their CR LF into LF. */
function textOf(form: URLSearchParams, name: string): string {
  return field(form, name).replaceAll('\r\n', '\n').trim()
}

async function newOrgPage({ person, form, urls }: PageContext, trouble?: Trouble): Promise<Page> {
  if (person === undefined) throw new AppError('unauthenticated', 'Sign in to create an organisation')
  return {
    ...{ kind: 'page', place: {}, facts: trouble, head: { title: 'New organisation · Grove', noIndex: true } },
    body: () => (
      <main id="main" class="sheet">
        <h1>New organisation</h1>
        <p class="why">
          An organisation contains pages and has members. Only members can read it until you publish it.
        </p>
        <TroubleOf trouble={trouble} fields={['name', 'description']} />
        <form method="post" action={urls.newOrg()} class="fields">
          <Names name={field(form, 'name')} description={field(form, 'description')} trouble={trouble} />
          <button class="btn go" type="submit">
            Create organisation
          </button>
        </form>
      </main>
    ),
  }
}

interface NamesProps {
  readonly name: string
  readonly description: string
  readonly trouble: Trouble | undefined
}

function Names({ name, description, trouble }: NamesProps) {
  return (
    <>
      <Field label="Name" name="name" trouble={trouble}>
        {(tied) => <input {...tied} required maxLength={limits.displayName} value={name} autocomplete="off" />}
      </Field>
      <Field label="Description" hint="a few words about it" name="description" trouble={trouble}>
        {(tied) => (
          <textarea {...tied} rows={3} maxLength={limits.orgDescription}>
            {`\n${description}`}
          </textarea>
        )}
      </Field>
    </>
  )
}

export function showGeneral(visit: PageContext): Promise<Page> {
  return generalPage(visit)
}

export async function takeGeneral(visit: PageContext): Promise<PageResult> {
  const { api, form, urls } = visit
  const path = { org_id: param(visit, 'org') }
  return submitForm(
    (trouble) => generalPage(visit, trouble),
    async () => {
      if (form.get('act') === 'delete') return deleteOrg(visit, path)
      await api.updateOrg({ path, body: changeOf(form) })
      return `${urls.settings(path.org_id, 'general')}?saved`
    },
  )
}

/** Deletes the organisation. @throws ValidationError if the repeated name is wrong */
async function deleteOrg({ api, form, urls }: PageContext, path: { org_id: string }): Promise<string> {
  const { name } = await api.getOrg({ path })
  if (field(form, 'repeated').trim() !== name)
    throw invalid(['body', 'repeated'], 'This is not the name of the organisation. Nothing was deleted')
  await api.deleteOrg({ path })
  return urls.home()
}

/** Returns the change that the form asks for. @throws AppError bad_request */
function changeOf(form: URLSearchParams) {
  switch (form.get('act')) {
    case 'describe':
      return { name: field(form, 'name').trim(), description: textOf(form, 'description') }
    case 'publish':
      return { published: true }
    case 'unpublish':
      return { published: false }
    case 'rules':
      return { require_pull_requests: form.has('require_pull_requests') }
    case 'embeddings':
      return { embeddings: meaningChoice(form) }
    default:
      throw new AppError('bad_request', 'The form does not name a known action')
  }
}

async function generalPage(visit: PageContext, trouble?: Trouble): Promise<Page> {
  const org = await readAsMember(visit)
  const open = await countOpen(visit, org)
  const { urls, form, query } = visit
  const sent = form.get('act') === 'describe'
  const action = urls.settings(org.id, 'general')
  const name = sent ? field(form, 'name') : org.name
  const description = sent ? field(form, 'description') : org.description
  const meaning = meaningFacts(visit, org)
  return {
    ...{ kind: 'page', place: { org, crumb: 'Settings' }, facts: { org, usage: org.usage, open, meaning, trouble } },
    head: { title: `Settings · ${org.name}`, noIndex: true },
    body: () => (
      <>
        <OrgTabs {...{ urls, org, open }} here="settings" />
        <main id="main" class="page settings">
          <h1>Settings</h1>
          <SettingsTabs urls={urls} org={org.id} here="general" />
          {query.has('saved') && trouble === undefined && <p class="notice">Saved.</p>}
          <TroubleOf trouble={trouble} fields={['repeated', ...(sent ? ['name', 'description'] : [])]} />
          {org.role === 'owner' ? (
            <>
              <form method="post" action={action} class="fields">
                <input type="hidden" name="act" value="describe" />
                <Names name={name} description={description} trouble={trouble} />
                <button class="btn go" type="submit">
                  Save
                </button>
              </form>
              <Publishing org={org} urls={urls} action={action} />
              <Rules org={org} urls={urls} action={action} />
              <MeaningChoice org={org} facts={meaning} action={action} />
              <UsageOf org={org} />
              <HomeRule />
              <ApiId id={org.id} of="organisation" />
              <FolderLinks org={org} urls={urls} />
              <TrashLink org={org} urls={urls} />
              <Deletion org={org} action={action} trouble={trouble} />
            </>
          ) : (
            <>
              <p>Only owners can change these settings. Your role: {org.role}.</p>
              <UsageOf org={org} />
              <HomeRule />
              <ApiId id={org.id} of="organisation" />
              <FolderLinks org={org} urls={urls} />
              {mayDelete(org.role) && <TrashLink org={org} urls={urls} />}
            </>
          )}
        </main>
      </>
    ),
  }
}

function Publishing({ org, urls, action }: { readonly org: Org; readonly urls: Urls; readonly action: string }) {
  const address = urls.absolute(urls.org(org.id))
  return (
    <section>
      <h2>Visibility</h2>
      {org.published ? (
        <>
          <p>Published: anyone can read it, without an account, at</p>
          <p class="copy">
            <a href={urls.org(org.id)}>{address}</a>
          </p>
        </>
      ) : (
        <p>Only members can read it.</p>
      )}
      <details>
        <summary class="btn">{org.published ? 'Unpublish…' : 'Publish…'}</summary>
        <form method="post" action={action} class="ask">
          {org.published ? (
            <p>
              Only members will be able to read it, starting immediately. The feed and the sitemap disappear. Clones
              that exist stay as they are.
            </p>
          ) : (
            <p>
              Anyone will be able to read, search and clone all its pages, with the full history of main and all tags.
              This includes the names and e-mail addresses of the authors. The URL will be {address}
            </p>
          )}
          <button
            type="submit"
            class={org.published ? 'btn stop' : 'btn go'}
            name="act"
            value={org.published ? 'unpublish' : 'publish'}
          >
            {org.published ? 'Unpublish' : 'Publish'}
          </button>
        </form>
      </details>
    </section>
  )
}

function Rules({ org, urls, action }: { readonly org: Org; readonly urls: Urls; readonly action: string }) {
  return (
    <section>
      <h2>Changes</h2>
      <form method="post" action={action} class="ask">
        <label class="check">
          <input type="checkbox" name="require_pull_requests" checked={org.require_pull_requests} />
          <span>Accept changes only as proposals, merged by a maintainer or an owner</span>
        </label>
        <p class="why">
          This is the rule for main of existing pages. A new page is saved directly. More rules, also for other
          branches, are in <a href={urls.settings(org.id, 'rules')}>Rules</a>. All of them hold together.
        </p>
        <button type="submit" class="btn" name="act" value="rules">
          Save rule
        </button>
      </form>
    </section>
  )
}

function UsageOf({ org: { usage } }: { readonly org: Org }) {
  if (usage === undefined) return null
  const { nodes, bytes, max_nodes: maxNodes, max_bytes: maxBytes } = usage
  const pages = nodes === 1 ? '1 page' : `${nodes.toLocaleString('en')} pages`
  const ofPages = maxNodes === undefined ? '' : ` of at most ${maxNodes.toLocaleString('en')}`
  const ofBytes = maxBytes === undefined ? '' : ` of at most ${sizeOf(maxBytes)}`
  return (
    <section>
      <h2>Usage</h2>
      <p>
        {pages}
        {ofPages} and {sizeOf(bytes)}
        {ofBytes}, with all versions and the deleted pages in the trash.
      </p>
    </section>
  )
}

function FolderLinks({ org, urls }: { readonly org: Org; readonly urls: Urls }) {
  return (
    <section>
      <h2>Import and export</h2>
      <p>Download all pages as a folder of Markdown. A folder or .zip of Markdown can be imported at any time.</p>
      <p class="import-acts">
        {mayWrite(org.role) && (
          <a class="btn" href={urls.import(org.id)}>
            Import
          </a>
        )}
        <a class="btn" href={urls.export(org.id)}>
          Export
        </a>
      </p>
    </section>
  )
}

function TrashLink({ org, urls }: { readonly org: Org; readonly urls: Urls }) {
  return (
    <section>
      <h2>Trash</h2>
      <p>Deleted pages are kept for a while, and can be restored.</p>
      <p>
        <a class="btn" href={urls.trash(org.id)}>
          Open the trash
        </a>
      </p>
    </section>
  )
}

interface DeletionProps {
  readonly org: Org
  readonly action: string
  readonly trouble: Trouble | undefined
}

function Deletion({ org, action, trouble }: DeletionProps) {
  return (
    <section>
      <h2>Delete this organisation</h2>
      <details open={trouble?.field === 'repeated'}>
        <summary class="btn stop">Delete…</summary>
        <form method="post" action={action} class="fields">
          <p>
            Everyone, including members, loses access immediately. The operator can restore the repositories from the
            trash until they are purged, usually after 30 days.
          </p>
          <Field label="Type its name to confirm" hint={org.name} name="repeated" trouble={trouble}>
            {(tied) => <input {...tied} required autocomplete="off" maxLength={limits.displayName} />}
          </Field>
          <button type="submit" class="btn stop" name="act" value="delete">
            Delete organisation
          </button>
        </form>
      </details>
    </section>
  )
}
