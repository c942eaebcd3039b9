/** An import: its progress while it runs, then its report. */

import type { ComponentChildren } from 'preact'
import { AppError } from '../../../base/errors.ts'
import type { AnswerOf } from '../../../http/in-process.ts'
import { type Page, type PageContext, type PageResult, param, redirect } from '../../../pages/page-context.ts'
import { plural } from '../../../pages/parts/dates.tsx'
import type { Urls } from '../../../pages/urls.ts'
import { progressWords, stateWords } from './import-words.ts'

type Org = AnswerOf<'getOrg'>
type Import = AnswerOf<'getImport'>
type Report = NonNullable<Import['report']>

/** Seconds after which a browser without script loads the progress again. */
const refreshSeconds = 2
/** Lists with more items are folded. */
const shownOpen = 12

export async function showImportRun(visit: PageContext): Promise<Page> {
  const { api, urls, person } = visit
  if (person === undefined) throw new AppError('unauthenticated', 'Sign in to see this import')
  const org_id = param(visit, 'org')
  const [org, run] = await Promise.all([
    api.getOrg({ path: { org_id } }),
    api.getImport({ path: { org_id, import_id: param(visit, 'id') } }),
  ])
  const isActive = run.state === 'queued' || run.state === 'running'
  return {
    ...{ kind: 'page', place: { org, crumb: 'Import' }, facts: { org, run } },
    head: {
      title: `${headingOf(run)} · ${org.name}`,
      noIndex: true,
      ...(isActive ? { script: 'import.js', refresh: refreshSeconds } : {}),
    },
    body: () => (
      <main id="main" class="page import">
        <h1>{headingOf(run)}</h1>
        {isActive ? <Progress run={run} urls={urls} /> : <Ended run={run} org={org} urls={urls} />}
      </main>
    ),
  }
}

export async function takeImportRun(visit: PageContext): Promise<PageResult> {
  const { api, form, urls } = visit
  const path = { org_id: param(visit, 'org'), import_id: param(visit, 'id') }
  if (form.get('act') !== 'cancel') throw new AppError('bad_request', 'The form does not name a known action')
  await api.cancelImport({ path }).catch((error: unknown) => {
    // The page shows how it ended.
    if (!(error instanceof AppError) || error.code !== 'import_ended') throw error
  })
  return redirect(303, urls.importRun(path.org_id, path.import_id))
}

function headingOf({ state, dry_run }: Import): string {
  const what = dry_run ? 'Preview of an import' : 'Import'
  if (state === 'queued' || state === 'running') return dry_run ? what : 'Importing pages'
  return state === 'done' ? (dry_run ? what : 'Import done') : `${what}: ${stateWords[state].toLowerCase()}`
}

function Progress({ run, urls }: { run: Import; urls: Urls }) {
  const { org_id, id, progress } = run
  const { done, total } = progress
  return (
    <div class="progress" data-import-run={id}>
      <p role="status" data-phase>
        {progressWords(progress)}
      </p>
      <progress max={Math.max(total, 1)} {...(total > 0 ? { value: done } : {})} aria-label="Progress" />
      <p class="why">You can leave this page. The import continues, and this page shows its report.</p>
      <form method="post" action={urls.importRun(org_id, id)}>
        <button class="btn" type="submit" name="act" value="cancel">
          Cancel the import
        </button>
      </form>
    </div>
  )
}

interface Shown {
  readonly run: Import
  readonly org: Org
  readonly urls: Urls
}

function Ended({ run, org, urls }: Shown) {
  const { state, detail, report } = run
  return (
    <>
      {detail && (
        <p class={state === 'cancelled' ? 'notice' : 'problem'} role="status">
          {detail}.
        </p>
      )}
      {state === 'done' && report === undefined && <p class="notice">The report of this import is gone.</p>}
      {report && <ReportOf report={report} run={run} urls={urls} />}
      {run.dry_run && state === 'done' && (
        <p class="why">
          The service keeps no files of a preview. To import them, choose the same folder or .zip again.
        </p>
      )}
      <p class="import-acts">
        <a class="btn go" href={urls.org(org.id)}>
          View {org.name}
        </a>
        <a class="btn" href={urls.import(org.id)}>
          {run.dry_run && state === 'done' ? 'Import it' : 'Import again'}
        </a>
      </p>
    </>
  )
}

function ReportOf({ report, run, urls }: { report: Report; run: Import; urls: Urls }) {
  const { counts, created, updated, renamed, kept, overwritten, unresolved, problems, notes } = report
  const org = run.org_id
  const page = ({ node_id, title, path }: Report['created'][number]) => (
    <>
      {run.dry_run ? title : <a href={urls.node(org, node_id, title)}>{title}</a>} <small>{path}</small>
    </>
  )
  const existing = ({ node_id, title, path }: Report['kept'][number]) => (
    <>
      <a href={urls.node(org, node_id, title)}>{title}</a> <small>{path}</small>
    </>
  )
  return (
    <>
      {run.dry_run && <p class="notice">This is a preview. Nothing was changed.</p>}
      <Counts counts={counts} />
      {notes.length > 0 && (
        <ul class="import-notes">
          {notes.map((note) => (
            <li>Note: {note}.</li>
          ))}
        </ul>
      )}
      <Listed title="Problems" total={counts.problems} isWarning>
        {problems.map(({ path, reason }) => (
          <li>
            <code>{path}</code> {reason}
          </li>
        ))}
      </Listed>
      <LinksToNothing unresolved={unresolved} total={counts.unresolved} run={run} urls={urls} />
      <Listed
        title="Edited in Grove since the last import"
        why={
          run.dry_run
            ? 'The file would replace the edit, which would stay in the history of its page.'
            : "The file replaced the edit, which stays in the page's history."
        }
        total={counts.overwritten}
        isWarning
      >
        {overwritten.map((one) => (
          <li>{existing(one)}</li>
        ))}
      </Listed>
      <Listed title="Pages whose file is gone" why="They were kept as they are." total={counts.kept}>
        {kept.map((one) => (
          <li>{existing(one)}</li>
        ))}
      </Listed>
      <Listed title="New pages" total={counts.created}>
        {created.map((one) => (
          <li>{page(one)}</li>
        ))}
      </Listed>
      <Listed title="Changed pages" total={counts.updated}>
        {updated.map((one) => (
          <li>{existing(one)}</li>
        ))}
      </Listed>
      <Listed title="Moved pages" total={counts.renamed}>
        {renamed.map((one) => (
          <li>
            {existing(one)} <small>from {one.from}</small>
          </li>
        ))}
      </Listed>
    </>
  )
}

function Counts({ counts }: { counts: Report['counts'] }) {
  const shown: [number, string][] = [
    [counts.created, counts.created === 1 ? 'new page' : 'new pages'],
    [counts.updated + counts.renamed, 'changed'],
    [counts.unchanged, 'unchanged'],
    [counts.links, counts.links === 1 ? 'link' : 'links'],
    [counts.attachments, counts.attachments === 1 ? 'file' : 'files'],
  ]
  return (
    <ul class="import-counts">
      {shown.map(([count, word]) => (
        <li>
          <strong>{count.toLocaleString('en')}</strong> {word}
        </li>
      ))}
    </ul>
  )
}

interface ListedProps {
  readonly title: string
  readonly why?: string
  readonly total: number
  /** How many of them the children are. Default: one each. */
  readonly shown?: number
  readonly isWarning?: boolean
  readonly children: readonly ComponentChildren[]
}

/** A list of the report, folded if it is long. Nothing if it is empty. */
function Listed({ title, why, total, isWarning = false, children, shown = children.length }: ListedProps) {
  if (total === 0) return null
  return (
    <details class={isWarning ? 'import-list warning' : 'import-list'} open={total <= shownOpen}>
      <summary>
        <h2>{title}</h2> <span class="count">{total.toLocaleString('en')}</span>
      </summary>
      {why && <p class="why">{why}</p>}
      <ul>
        {children}
        {total > shown && <li class="why">and {(total - shown).toLocaleString('en')} more</li>}
      </ul>
    </details>
  )
}

const kinds: Readonly<Record<Report['unresolved'][number]['kind'], string>> = {
  missing: 'Nothing in the folder has this name',
  outside: 'Leads out of the folder',
  ambiguous: 'Several files have this name',
  site: 'A path from the root of a site',
  hugo: 'A reference of Hugo',
}

interface LinksProps {
  readonly unresolved: Report['unresolved']
  readonly total: number
  readonly run: Import
  readonly urls: Urls
}

function LinksToNothing({ unresolved, total, run, urls }: LinksProps) {
  const groups = Object.entries(kinds)
    .map(([kind, words]) => ({ words, links: unresolved.filter((link) => link.kind === kind) }))
    .filter(({ links }) => links.length > 0)
  return (
    <Listed
      title="Links to nothing"
      why="They stay in the text as they were written."
      total={total}
      shown={unresolved.length}
    >
      {groups.flatMap(({ words, links }) => [
        <li class="import-kind">
          {words} <span class="count">{plural(links.length, 'link')}</span>
        </li>,
        ...links.map(({ path, target, node_id }) => (
          <li>
            <code>{target}</code>{' '}
            <small>in {node_id && !run.dry_run ? <a href={urls.node(run.org_id, node_id)}>{path}</a> : path}</small>
          </li>
        )),
      ])}
    </Listed>
  )
}
