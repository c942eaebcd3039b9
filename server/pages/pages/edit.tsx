/** Editing the text and title of a node: saving, proposing, and resolving conflicts. */

import type { Api } from '../../../spec/client/api.ts'
import { AppError } from '../../base/errors.ts'
import {
  editItem,
  hasDosLines,
  messageOf,
  type NodePath,
  proposeEdit,
  type Source,
  saveEdit,
  withLineEnds,
} from '../edits.ts'
import { type Page, type PageContext, type PageResult, param, redirect } from '../page-context.ts'
import { type Conflict, ConflictView, readConflict } from '../parts/conflict-view.tsx'
import {
  BeginText,
  type ContinuedDraft,
  dataOfDraft,
  discardContinued,
  readContinued,
  writtenOf,
} from '../parts/continued-draft.tsx'
import {
  branchIn,
  type EditedBranch,
  EditedProposal,
  OwnProposals,
  type Refused,
  readEditedBranch,
} from '../parts/edited-branch.tsx'
import {
  type Act,
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
import { NodePath as Above, type AtNode, readAtNode } from '../parts/node-head.tsx'
import { findOwnPulls, type Pull } from '../parts/open-pulls.ts'
import { mayEdit, mayPropose, maySave } from '../parts/rights.ts'
import { WhoMerges } from '../parts/who-merges.tsx'
import { panelKey } from '../properties.ts'
import { intoIn, proposePages } from '../proposing.ts'
import { readTitle } from './version.ts'

export async function showEdit(visit: PageContext): Promise<Page> {
  if (visit.person === undefined) throw new AppError('unauthenticated', 'Sign in to edit')
  const at = await readAtNode(visit, true)
  if (!mayPropose(at.org.role))
    return refused(
      visit,
      at,
      'You can read this page. Ask an owner of the organisation if you want to suggest changes.',
    )
  if (at.node.state !== 'proposed' && !mayEdit(at.org.role, at.node.head))
    return refused(visit, at, 'This page has no commits yet. You need the editor role to save a first version.')
  const branch = await readEditedBranch(visit, at)
  if ('says' in branch) return refused(visit, at, branch.says, branch.status)
  const draft = await readContinued(visit, at.node.id)
  const source = await sourceAt(visit.api, at, draft ? draft.head : branch.head)
  if (typeof source === 'string') return refused(visit, at, `This text ${source}. Edit it in a clone.`)
  const found = branch.pull === undefined ? await findOwnPulls(visit, at) : {}
  const written = draft ? writtenOf(draft, branch.panel) : { ...source, message: '', panel: branch.panel }
  return editPage(visit, at, { ...found, branch, source, written, draft })
}

export async function takeEdit(visit: PageContext): Promise<PageResult> {
  return discardContinued(visit, await saveForm(visit))
}

async function saveForm(visit: PageContext): Promise<PageResult> {
  const { api, urls, form } = visit
  const sent = writtenIn(visit)
  if (visit.person === undefined) return signedOutPage(visit, sent)
  const at = await readAtNode(visit, true)
  const branch = await readEditedBranch(visit, at)
  if ('says' in branch) return keptPage(visit, sent, { ...branch, says: `${branch.says} Your text is still here.` })
  const head = headIn(form.get('head') ?? '')
  const start = await sourceAt(api, at, head)
  if (typeof start === 'string') return refused(visit, at, `This text ${start}. Edit it in a clone.`)
  const written = { ...sent, text: asBegun(sent.text, start.text) }
  const again = (problem: string, status: number, taken?: number) =>
    editPage(visit, at, { branch, source: start, written, problem, status, taken })
  try {
    const edit = { ...written, files: [], fields: changedFields(written) }
    if (form.get('act') === 'propose' && branch.pull === undefined) {
      if (head === null)
        return again('This page has no commits yet. Save a first version instead of proposing one.', 409)
      const into = intoIn((name) => form.get(name), messageOf(edit))
      if (into) {
        const item = await editItem(api, at.path, { ...start, head }, edit)
        return redirect(
          303,
          urls.inSet(at.org.id, await proposePages(api, at.org.id, into, { nodes: [item] }), at.node.id),
        )
      }
      const from = { ...start, head, slug: at.node.slug, branches: at.org.branch_prefix }
      const number = await proposeEdit(api, at.path, from, edit)
      return redirect(303, urls.proposal(at.org.id, at.node.id, number))
    }
    if (form.get('act') === 'compare') throw new AppError('head_moved', 'This page has changed since you opened it')
    await saveEdit(api, at.path, start, edit, branch.name)
  } catch (error) {
    if (error instanceof AppError && error.code === 'head_moved') return comparedPage(visit, { start, written })
    const isUnchanged = error instanceof AppError && error.code === 'no_changes'
    const isTaken = error instanceof AppError && error.code === 'item_exists'
    if (!isUnchanged) return again(...problemOf(error), isTaken ? Number(error.facts.change_set) : undefined)
    if (form.get('act') !== 'save') return again('You have not changed anything.', 409)
  }
  if (branch.pull) return redirect(303, urls.proposal(at.org.id, at.node.id, branch.pull.number, at.node.title))
  const isRenamed = form.get('act') === 'save' && written.title !== start.title
  const next = isRenamed
    ? urls.rename(at.org.id, at.node.id, start.title)
    : urls.node(at.org.id, at.node.id, written.title)
  return redirect(303, next)
}

/** Restores the line endings of `before`, which browsers change. Returns `before` if nothing else changed. */
function asBegun(sent: string, before: string): string {
  const isDos = hasDosLines(before)
  const text = withLineEnds(sent, isDos)
  return text === withLineEnds(before, isDos) ? before : text
}

/** Reads a commit id; null if it is blank. @throws AppError bad_request */
function headIn(text: string): string | null {
  if (text === '') return null
  if (!/^[0-9a-f]{40}$/.test(text)) throw new AppError('bad_request', 'The form does not name a valid commit')
  return text
}

/** Shows the form with both sides after a conflict. Leads to the page if it has this content already. */
async function comparedPage(
  visit: PageContext,
  { start, written }: { start: Source; written: Written },
): Promise<PageResult> {
  const { api, form } = visit
  const at = await readAtNode(visit, true)
  const branch = await readEditedBranch(visit, at)
  if ('says' in branch) return keptPage(visit, written, { ...branch, says: `${branch.says} Your text is still here.` })
  const theirs = await sourceAt(api, at, branch.head)
  if (typeof theirs === 'string')
    return refused(visit, at, `The text has changed, and now ${theirs}. Edit it in a clone.`)
  // The form was sent twice, and the first request has saved it.
  const sent = changedFields(written)
  const isSaved =
    theirs.text === written.text &&
    theirs.title === written.title &&
    (sent === undefined || (written.panel && panelKey(written.panel) === panelKey(branch.panel)))
  if (isSaved && form.get('act') === 'save') return redirect(303, backOf(visit, at, branch))
  // Tags and properties that the user did not change are those of the current version.
  const fields = sent === undefined ? { panel: branch.panel, panelBase: undefined } : {}
  const ways = readConflict(start, theirs, { ...written, ...fields })
  return editPage(visit, at, { branch, source: theirs, written: ways.next, ways, status: 409 })
}

/** Returns the URL of the page, or of the proposal, that is edited. */
function backOf({ urls }: PageContext, { org, node }: AtNode, { pull }: EditedBranch): string {
  return pull === undefined
    ? urls.node(org.id, node.id, node.title)
    : urls.proposal(org.id, node.id, pull.number, node.title)
}

interface Editing {
  readonly branch: EditedBranch
  /** Open proposals of the visitor, which they may edit instead. */
  readonly own?: readonly Pull[]
  /** The number of the open proposal of several pages that has the page. No other one can take it. */
  readonly taken?: number | undefined
  /** The version that the edit is based on. */
  readonly source: Source
  readonly written: Written
  readonly problem?: string
  readonly ways?: Conflict
  readonly status?: number
  /** The draft that the form continues. */
  readonly draft?: ContinuedDraft | undefined
}

function editPage(visit: PageContext, at: AtNode, editing: Editing): Page {
  const { branch, own = [], taken, source, written, problem, ways, status = 200, draft } = editing
  const { urls } = visit
  const { org, node } = at
  const acts = actsOf(at, editing)
  const data = dataOf(visit, at, editing)
  const into = taken === undefined ? visit.form : new URLSearchParams({ into: '' })
  return {
    ...{ kind: 'page', status, facts: { at, branch, own, taken, source, written, problem, ways, draft } },
    place: { org, crumb: node.title },
    head: { title: `Edit ${node.title} · ${org.name}`, noIndex: true },
    body: () => (
      <main id="main" class="wide editing" data-keys={editorKeys}>
        <Above visit={visit} at={at} />
        <h1>Edit {node.title}</h1>
        {!branch.pull && acts.every(({ name }) => name === 'propose') && (
          <p class="why">
            You propose changes here, and{' '}
            <WhoMerges urls={urls} org={org} isRuled={node.main_needs_pull_request === true} /> merges them.
          </p>
        )}
        {branch.pull && <EditedProposal visit={visit} at={at} pull={branch.pull} />}
        <OwnProposals visit={visit} at={at} own={own} />
        {taken !== undefined && (
          <p class="notice">
            This page is in the open <a href={urls.changeSet(org.id, taken)}>proposal #{taken}</a> of several pages. No
            other one can take it, but you can propose your change as its own proposal.
          </p>
        )}
        <EditorForm
          {...{ written, acts, data, problem }}
          action={urls.edit(org.id, node.id, branch.name)}
          back={backOf(visit, at, branch)}
          hidden={{ head: source.head ?? '', draft: draft?.id ?? visit.form.get('draft') ?? '' }}
          focus="text"
          into={acts.some(({ name }) => name === 'propose') && <IntoField org={org} sent={into} />}
        >
          {ways && <ConflictView ways={ways} />}
          {draft && <BeginText text={source.text} />}
        </EditorForm>
      </main>
    ),
  }
}

/** Returns what the script needs to know. */
function dataOf(visit: PageContext, at: AtNode, { branch, source, draft }: Editing): Record<string, string> {
  const { org, node } = at
  const place = branch.pull && { 'data-branch': branch.name, 'data-next': backOf(visit, at, branch) }
  return {
    'data-editor': '',
    'data-node': node.id,
    'data-slug': node.slug,
    'data-branches': org.branch_prefix ?? '',
    'data-title': source.title,
    'data-path': source.textPath,
    'data-lines': hasDosLines(source.text) ? 'dos' : 'unix',
    'data-draft': `${visit.person?.id} ${node.id}${branch.pull ? ` ${branch.name}` : ''}`,
    ...place,
    ...dataOfDraft(draft),
  }
}

/** Returns the buttons of the form. Enter in a field presses the first one. */
function actsOf({ org, node }: AtNode, { branch: { pull }, source }: Editing): readonly Act[] {
  const save = { name: 'save', label: pull ? `Save to proposal #${pull.number}` : 'Save' } as const
  const propose = { name: 'propose', label: 'Propose changes' } as const
  if (pull !== undefined || source.head === null) return [save]
  return maySave(org, node) ? [save, propose] : [propose]
}

function refused(visit: PageContext, at: AtNode, says: string, status = 403): Page {
  const { org, node } = at
  return {
    ...{ kind: 'page', status, facts: { at, says }, place: { org, crumb: node.title } },
    head: { title: `Edit ${node.title} · ${org.name}`, noIndex: true },
    body: () => (
      <RefusedPage title={node.title} says={says} back={visit.urls.node(org.id, node.id, node.title)}>
        <Above visit={visit} at={at} />
      </RefusedPage>
    ),
  }
}

/** Keeps the text of a user whose session ended while they were writing. */
function signedOutPage(visit: PageContext, written: Written): Page {
  const says =
    'Your session has ended. Sign in again in another tab, then submit this form again. Your text is still here.'
  return keptPage(visit, written, { says, status: 401 })
}

/** Keeps a text that cannot be saved now. */
function keptPage(visit: PageContext, written: Written, { says: problem, status }: Refused): Page {
  const { urls, form } = visit
  const [org, node] = [param(visit, 'org'), param(visit, 'node')]
  const branch = branchIn(visit)
  return {
    ...{ kind: 'page', status, facts: undefined, place: {} },
    head: { title: 'Edit', noIndex: true },
    body: () => (
      <main id="main" class="wide editing">
        <h1>Edit {written.title}</h1>
        <EditorForm
          {...{ written, problem, data: {} }}
          acts={[
            form.get('act') === 'propose'
              ? { name: 'propose', label: 'Propose changes' }
              : { name: 'save', label: branch === 'main' ? 'Save' : 'Save to the proposal' },
          ]}
          action={urls.edit(org, node, branch)}
          back={urls.node(org, node)}
          hidden={{ head: form.get('head') ?? '' }}
        />
      </main>
    ),
  }
}

/** Why a form cannot hold a text, after "This text". */
type Unfit = string

const tooLong: Unfit = `has more than ${most.text.toLocaleString('en')} characters, too many to edit here`

/** Reads the node at a commit. */
export async function sourceAt(api: Api, { path, node }: AtNode, head: string | null): Promise<Source | Unfit> {
  if (head === null) return { head, title: node.title, text: '', textPath: 'content.md' }
  const title = head === node.head ? node.title : await readTitle(api, path, head, node.title)
  for (const textPath of ['content.md', 'README.md']) {
    const text = await readText(api, path, head, textPath)
    if (typeof text === 'string') return text
    if (text !== undefined) return { head, title, ...text, textPath }
  }
  return { head, title, text: '', textPath: 'content.md' }
}

async function readText(
  api: Api,
  path: NodePath,
  head: string,
  file: string,
): Promise<{ text: string } | Unfit | undefined> {
  try {
    const { content, encoding } = await api.getFile({ path: { ...path, branch: head, path: file } })
    if (encoding !== 'utf-8') return 'is not UTF-8'
    return content.length <= most.text ? { text: content } : tooLong
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    if (error.code === 'file_not_found') return undefined
    if (error.code === 'too_large') return tooLong
    throw error
  }
}
