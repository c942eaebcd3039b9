/** The form that imports a folder or a .zip of Markdown. */

import type { Readable } from 'node:stream'
import { AppError, invalid, ValidationError } from '../../../base/errors.ts'
import type { AnswerOf } from '../../../http/in-process.ts'
import { type Page, type PageContext, type PageResult, param, redirect } from '../../../pages/page-context.ts'
import { When } from '../../../pages/parts/dates.tsx'
import { RefusedPage } from '../../../pages/parts/editor-form.tsx'
import { Field } from '../../../pages/parts/forms.tsx'
import { mayWrite } from '../../../pages/parts/rights.ts'
import { asSentence } from '../../../pages/text/broken-rules.ts'
import type { Urls } from '../../../pages/urls.ts'
import { readImportForm } from './import-form.ts'
import { stateWords } from './import-words.ts'

type Org = AnswerOf<'getOrg'>
type Import = AnswerOf<'getImport'>

/** Why the form was refused. */
interface Refusal {
  readonly status: number
  readonly says: string
  /** The import that has not ended. */
  readonly running?: string
}

/** Errors that the user can correct, with the status of the page. */
const refusals: Readonly<Partial<Record<AppError['code'], number>>> = {
  import_running: 409,
  import_ended: 409,
  too_large: 413,
  unsupported_media_type: 415,
  request_timeout: 408,
  busy: 503,
  storage_full: 503,
}

export function showImport(visit: PageContext): Promise<Page> {
  return importPage(visit)
}

export async function takeImport(visit: PageContext): Promise<PageResult> {
  const { api, upload, urls } = visit
  const org_id = param(visit, 'org')
  if (visit.person === undefined) throw new AppError('unauthenticated', 'Sign in to import pages')
  if (upload === undefined) throw new Error('The route takes a form as a stream')
  let body: Readable | undefined
  try {
    // Before the first byte of a file is read.
    const { role } = await api.getOrg({ path: { org_id } })
    if (!mayWrite(role)) throw new AppError('forbidden', 'You need the editor role to import pages')
    body = upload.open()
    const { fields, archive, name } = await readImportForm(upload.type, body)
    if (archive === undefined) throw invalid(['body'], 'Choose a folder or a .zip first')
    const query = {
      ...(name.trim() === '' ? {} : { name: name.trim().slice(0, 200) }),
      dry_run: fields.get('dry_run') === 'yes',
      ...(fields.get('override')?.trim() ? { override: fields.get('override')?.trim().slice(0, 500) ?? '' } : {}),
      ...(fields.get('exclude')?.trim() ? { exclude: fields.get('exclude')?.replaceAll('\r\n', '\n') ?? '' } : {}),
    }
    const { id } = await api.startImport({ path: { org_id }, query, body: archive })
    return redirect(303, urls.importRun(org_id, id))
  } catch (error) {
    // The rest of the form is not read.
    body?.destroy()
    return importPage(visit, refusalOf(error))
  }
}

/** @throws the error if the user cannot correct it */
function refusalOf(error: unknown): Refusal {
  if (error instanceof ValidationError) return { status: 422, says: asSentence(error.problems[0]?.msg ?? '') }
  const status = error instanceof AppError ? refusals[error.code] : undefined
  if (!(error instanceof AppError) || status === undefined) throw error
  const { import_id: running } = error.facts
  return { status, says: asSentence(error.message), ...(typeof running === 'string' ? { running } : {}) }
}

async function importPage(visit: PageContext, refusal?: Refusal): Promise<Page> {
  const { api, urls, person } = visit
  if (person === undefined) throw new AppError('unauthenticated', 'Sign in to import pages')
  const org_id = param(visit, 'org')
  const org = await api.getOrg({ path: { org_id } })
  if (!mayWrite(org.role)) return refusedPage(visit, org)
  const { imports } = await api.listImports({ path: { org_id }, query: { limit: 5 } })
  const running = imports.find(({ state }) => state === 'queued' || state === 'running')
  return {
    ...{ kind: 'page', status: refusal?.status ?? 200, place: { org, crumb: 'Import' } },
    facts: { org, imports, refusal },
    head: { title: `Import · ${org.name}`, noIndex: true, script: 'import.js' },
    body: () => (
      <main id="main" class="page import">
        <h1>Import pages</h1>
        <p class="lede">
          Bring a folder of Markdown, such as an Obsidian vault. Each file becomes a page, folders become the tree, and
          links between files stay links. Import the same folder again later to bring its changes.
        </p>
        {imports.length > 0 && (
          <p class="notice">
            A folder that was imported before wins over edits made here since then, also if its file has not changed.
            The edits stay in the history. A preview lists these pages.
          </p>
        )}
        {refusal && <Refused refusal={refusal} urls={urls} org={org.id} />}
        {running && !refusal ? (
          <p class="notice">
            An import is running. <a href={urls.importRun(org.id, running.id)}>Show it</a>
          </p>
        ) : (
          <ImportForm urls={urls} org={org} />
        )}
        {imports.length > 0 && <Earlier urls={urls} org={org.id} imports={imports} />}
      </main>
    ),
  }
}

function Refused({ refusal, urls, org }: { refusal: Refusal; urls: Urls; org: string }) {
  return (
    <p class="problem" role="alert">
      {refusal.says} {refusal.running && <a href={urls.importRun(org, refusal.running)}>Show that import</a>}
    </p>
  )
}

function ImportForm({ urls, org }: { urls: Urls; org: Org }) {
  return (
    <form
      class="fields import-form"
      method="post"
      action={urls.import(org.id)}
      enctype="multipart/form-data"
      data-import-form
    >
      <label class="check">
        <input type="checkbox" name="dry_run" value="yes" />
        <span>
          Preview only <small>Shows what would change, and changes nothing.</small>
        </span>
      </label>
      <details>
        <summary>Skip some files</summary>
        <Field label="Patterns" hint="as in .gitignore, one a line" name="exclude">
          {(tied) => <textarea {...tied} rows={3} maxLength={4_000} spellcheck={false} />}
        </Field>
      </details>
      {org.role === 'owner' && org.rules_for_new_nodes !== 'none' && (
        <details>
          <summary>Create pages in spite of rules</summary>
          <Field
            label="Reason"
            hint="Without one, new pages where a rule demands a proposal are left out. The history of each page keeps it."
            name="override"
          >
            {(tied) => <input {...tied} maxLength={500} autocomplete="off" />}
          </Field>
        </details>
      )}
      <div class="drop-zone" data-drop>
        <p class="drop-hint" data-drop-hint hidden>
          Drop a folder or a .zip here
        </p>
        <Field label="Folder" hint="hidden files such as .git are skipped" name="folder">
          {(tied) => <input {...tied} type="file" multiple {...{ webkitdirectory: true }} />}
        </Field>
        <Field label="Or a .zip" hint="up to 256 MiB" name="zip">
          {(tied) => <input {...tied} type="file" accept=".zip,application/zip" />}
        </Field>
        <p class="chosen" data-chosen role="status" />
      </div>
      <div class="sending" data-sending hidden>
        <progress max={1} value={0} aria-label="Upload" />
        <p role="status" data-sent />
      </div>
      <div class="form-acts">
        <button class="btn go" type="submit">
          Import
        </button>
        <a class="btn quiet" href={urls.org(org.id)}>
          Cancel
        </a>
      </div>
    </form>
  )
}

function Earlier({ urls, org, imports }: { urls: Urls; org: string; imports: readonly Import[] }) {
  return (
    <section class="earlier" aria-labelledby="earlier">
      <h2 id="earlier">Earlier imports</h2>
      <ul class="rows">
        {imports.map(({ id, name, state, dry_run, created_at }) => (
          <li>
            <a href={urls.importRun(org, id)}>{dry_run ? `Preview of ${name}` : name}</a>
            <span>{stateWords[state]}</span>
            <When time={created_at} />
          </li>
        ))}
      </ul>
    </section>
  )
}

function refusedPage({ urls }: PageContext, org: Org): Page {
  const says = 'You need the editor role to import pages here.'
  return {
    ...{ kind: 'page', status: 403, facts: { org }, place: { org } },
    head: { title: `Import · ${org.name}`, noIndex: true },
    body: () => <RefusedPage title={org.name} says={says} back={urls.org(org.id)} />,
  }
}
