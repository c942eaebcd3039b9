/** Restoring an earlier version: what would change, and the buttons that restore or propose it. */

import { AppError, ValidationError } from '../../base/errors.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { type Page, type PageContext, type PageResult, param, redirect } from '../page-context.ts'
import { When } from '../parts/dates.tsx'
import { most, problemOf, RefusedPage } from '../parts/editor-form.tsx'
import { type EdgeChange, Impact, readImpact } from '../parts/impact.tsx'
import { type AtNode, NodePath, readAtNode } from '../parts/node-head.tsx'
import { findRestorable } from '../parts/restore-link.tsx'
import { mayWrite } from '../parts/rights.ts'
import { proposeRestore, restoreNow } from '../restoring.ts'
import { type Changes, type FileChange, FileDiffs, readFileChanges } from '../text/diff.tsx'
import { firstLine } from './history.tsx'

export function showRestore(visit: PageContext): Promise<Page> {
  return restorePage(visit, visit.query.get('branch') || 'main', { message: '' })
}

export async function takeRestore(visit: PageContext): Promise<PageResult> {
  const { api, urls, form } = visit
  const branch = form.get('branch') || 'main'
  const message = (form.get('message') ?? '').slice(0, most.message)
  const at = await readAtNode(visit)
  const { path, org, node } = at
  const version = { branch, head: headIn(form.get('head') ?? ''), commit: param(visit, 'id'), message }
  try {
    const now = await findRestorable(visit, at, branch)
    if (now && now.head !== version.head) throw new AppError('head_moved', '')
    if (form.get('act') === 'propose')
      return redirect(303, urls.proposal(org.id, node.id, await proposeRestore(api, path, version)))
    await restoreNow(api, path, version)
  } catch (error) {
    return restorePage(visit, branch, { message, ...refusalOf(error, branch) })
  }
  return redirect(303, branch === 'main' ? urls.node(org.id, node.id) : urls.history(org.id, node.id, branch))
}

/** Reads the head that was shown. @throws AppError bad_request */
function headIn(text: string): string {
  if (!/^[0-9a-f]{40}$/.test(text)) throw new AppError('bad_request', 'The form does not name a valid commit')
  return text
}

interface Sent {
  readonly message: string
  readonly problem?: string
  /** The files that the branch refuses. */
  readonly files?: readonly { readonly path: string; readonly reason: string }[]
  readonly status?: number
}

/** Says why the form was refused. @throws errors that the visitor cannot correct */
function refusalOf(error: unknown, branch: string): Omit<Sent, 'message'> {
  if (error instanceof AppError && error.code === 'head_moved') {
    const problem = `${branch} has changed since you opened this page. Below is the change that restoring would make now.`
    return { problem, status: 409 }
  }
  const files = error instanceof ValidationError ? error.problems.flatMap(fileOf) : []
  if (files.length > 0) {
    const problem = `This version cannot be restored as it was, because ${branch} does not accept these files today. You can propose it, and correct the files on the branch of the proposal.`
    return { problem, files, status: 422 }
  }
  const [problem, status] = problemOf(error)
  return { problem, status }
}

function fileOf({ ctx }: ValidationError['problems'][number]) {
  const { path, reason } = ctx ?? {}
  return typeof path === 'string' && typeof reason === 'string' ? [{ path, reason }] : []
}

async function restorePage(visit: PageContext, branch: string, sent: Sent): Promise<Page> {
  const { api, urls, person } = visit
  if (person === undefined) throw new AppError('unauthenticated', 'Sign in to restore a version')
  const at = await readAtNode(visit)
  const { org, node, path } = at
  const history = { title: 'History', href: urls.history(org.id, node.id, branch) }
  const commit = await api.getCommit({ path: { ...path, branch, commit_id: param(visit, 'id') } })
  const head = { title: `Restore a version of ${node.title} · ${org.name}`, noIndex: true }
  const now = await findRestorable(visit, at, branch)
  if (now === undefined) {
    const [says, status] = mayWrite(org.role)
      ? [`Only versions of a branch can be restored, and ${branch} is not a branch.`, 404]
      : ['You need the editor role to restore a version.', 403]
    return {
      ...{ kind: 'page', status, head, place: { org, crumb: node.title }, facts: { at, says } },
      body: () => (
        <RefusedPage title={node.title} says={says} back={history.href}>
          <NodePath visit={visit} at={at} between={[history]} />
        </RefusedPage>
      ),
    }
  }
  const difference = await readDifference(visit, at, commit.id, now.head)
  const { changes: _, ...fields } = commit
  return {
    ...{ kind: 'page', status: sent.status ?? 200, head, place: { org, crumb: node.title } },
    facts: { at, fields, now, sent },
    body: () => (
      <main id="main" class="wide">
        <NodePath visit={visit} at={at} between={[history]} />
        <h1>Restore this version</h1>
        <div class="meta">
          <a href={urls.commit(org.id, node.id, commit.id)}>{firstLine(commit.message)}</a>
          <span>
            {commit.author}, <When time={commit.created_at} />
          </span>
          <span class="ref">{commit.id.slice(0, 8)}</span>
        </div>
        <RestoreForm
          action={urls.restore(org.id, node.id, commit.id, branch)}
          back={history.href}
          canRestore={!(branch === 'main' && node.main_needs_pull_request === true)}
          hidden={{ branch, head: now.head }}
          {...{ sent, difference }}
        />
        {difference !== 'too large' && difference !== 'none' && (
          <>
            {difference.edges.length > 0 && (
              <Impact urls={urls} org={org.id} title={node.title} edges={difference.edges} />
            )}
            <FileDiffs files={difference.files} />
          </>
        )}
      </main>
    ),
  }
}

interface FormProps {
  readonly action: string
  readonly back: string
  /** False if the branch changes only by proposals. */
  readonly canRestore: boolean
  readonly hidden: { readonly branch: string; readonly head: string }
  readonly sent: Sent
  readonly difference: Difference
}

function RestoreForm({ action, back, canRestore, hidden, sent, difference }: FormProps) {
  const { branch } = hidden
  const { problem, files = [] } = sent
  return (
    <form class="fields restoring" method="post" action={action}>
      {Object.entries(hidden).map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
      {problem && (
        <div class="problem" role="alert">
          {problem}
          {files.length > 0 && (
            <ul>
              {files.map(({ path, reason }) => (
                <li>
                  <span class="ref">{path}</span> {reason}
                </li>
              ))}
            </ul>
          )}
        </div>
      )}
      {difference === 'none' ? (
        <p class="why">{branch} already has exactly these files, so there is nothing to restore.</p>
      ) : (
        <>
          <p class="why">
            Restoring makes one new commit on {branch}, with the changes below. Later commits stay in the history.
            {!canRestore && ' You propose it here, because this branch changes only by proposals.'}
            {difference === 'too large' && ' Too many files differ to show them here.'}
          </p>
          <label>
            Summary of changes <small>one line, shown in the history; optional</small>
            <input name="message" maxLength={most.message} value={sent.message} autocomplete="off" />
          </label>
        </>
      )}
      <div class="restore-acts">
        {difference !== 'none' && canRestore && (
          <button class="btn go" type="submit" name="act" value="restore">
            Restore now
          </button>
        )}
        {difference !== 'none' && (
          <button class={canRestore ? 'btn' : 'btn go'} type="submit" name="act" value="propose">
            Propose it
          </button>
        )}
        <a class="btn quiet" href={back}>
          {difference === 'none' ? 'Back' : 'Cancel'}
        </a>
      </div>
    </form>
  )
}

/** The change from the head to the version. */
type Difference =
  | { readonly files: readonly FileChange[]; readonly edges: readonly EdgeChange[] }
  | 'none'
  | 'too large'

async function readDifference(
  { api }: PageContext,
  { path }: AtNode,
  version: string,
  head: string,
): Promise<Difference> {
  try {
    // The version is an ancestor of the head. The comparison leads from the version to the head.
    const { changes } = await api.compareCommits({ path, query: { base: version, head } })
    const back = reversed(changes)
    if (back.added.length + back.removed.length + back.modified.length === 0) return 'none'
    const [files, edges] = await Promise.all([readFileChanges(api, path, back), readImpact(api, path, back)])
    return { files, edges }
  } catch (error) {
    if (error instanceof AppError && error.code === 'too_large') return 'too large'
    throw error
  }
}

function reversed(changes: AnswerOf<'compareCommits'>['changes']): Changes {
  const { base_commit_id, target_commit_id, added, removed, modified } = changes
  return {
    ...changes,
    ...{ base_commit_id: target_commit_id, target_commit_id: base_commit_id ?? target_commit_id },
    ...{ added: removed, removed: added },
    modified: modified.map((one) => ({
      ...one,
      ...{ object_id: one.old_object_id, old_object_id: one.new_object_id, new_object_id: one.old_object_id },
    })),
  }
}
