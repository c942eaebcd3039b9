/** The trash of an organisation: deleted pages, and the buttons that restore them. */

import { AppError, statusOf, ValidationError } from '../../base/errors.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { type Page, type PageContext, type PageResult, param, redirect } from '../page-context.ts'
import { When } from '../parts/dates.tsx'
import { field } from '../parts/forms.tsx'
import { Icon } from '../parts/icons.tsx'
import { Pages, pageOffset } from '../parts/paging.tsx'
import { mayDelete } from '../parts/rights.ts'
import { newSet, proposePages } from '../proposing.ts'
import { asSentence } from '../text/broken-rules.ts'
import type { Urls } from '../urls.ts'

type Org = AnswerOf<'getOrg'>
type Trashed = AnswerOf<'listTrash'>['nodes'][number]

/** Deleted pages on a page. */
const pageSize = 50

export function showTrash(visit: PageContext): Promise<Page> {
  return trashPage(visit)
}

/** Restores the deleted page of the form, or proposes it. Leads to the result. */
export async function takeTrash(visit: PageContext): Promise<PageResult> {
  const { api, form, urls } = visit
  const org = param(visit, 'org')
  const [node, deleted_at] = [field(form, 'node'), field(form, 'deleted_at')]
  const act = form.get('act')
  if (act !== 'restore' && act !== 'propose') throw new AppError('bad_request', 'The form does not name a known action')
  try {
    if (act === 'propose') {
      const into = newSet(`Restore ${form.get('title') ?? ''}`)
      return redirect(
        303,
        urls.changeSet(org, await proposePages(api, org, into, { restorations: [{ node_id: node }] })),
      )
    }
    const { title } = await api.restoreNode({ path: { org_id: org, node_id: node }, body: { deleted_at } })
    const { id } = await api.getOrg({ path: { org_id: org } })
    return redirect(303, urls.node(id, node, title))
  } catch (error) {
    return trashPage(visit, refusalOf(error, urls.node(org, node), node))
  }
}

interface Refusal {
  readonly status: number
  readonly says: string
  /** The page that has the id of the deleted one. */
  readonly href?: string
  /** The deleted page, if its return can be proposed. */
  readonly node?: string
}

/** Says why a page was not restored. @throws errors that another try cannot mend */
function refusalOf(error: unknown, href: string, node: string): Refusal {
  if (error instanceof ValidationError) {
    const [reason] = error.problems.flatMap(({ ctx }) => (typeof ctx?.reason === 'string' ? [ctx.reason] : []))
    const says = asSentence(reason ?? 'The form does not name a deleted page')
    return { status: 422, says: `The page was not restored. ${says}` }
  }
  if (!(error instanceof AppError)) throw error
  if (error.code === 'node_exists') return { status: 409, says: 'There is a page with this id.', href }
  if (error.code === 'node_not_found')
    return { status: 404, says: 'This page is no longer in the trash. It was restored or removed for good.' }
  const says = asSentence(error.message)
  if (error.code === 'pull_request_required') return { status: 409, says, node }
  if (statusOf[error.code] === 409) return { status: 409, says }
  throw error
}

async function trashPage(visit: PageContext, refusal?: Refusal): Promise<Page> {
  const { api, urls, person, query } = visit
  const path = { org_id: param(visit, 'org') }
  const org = await api.getOrg({ path })
  if (person === undefined) throw new AppError('unauthenticated', 'Sign in to see the trash')
  if (!mayDelete(org.role)) throw new AppError('forbidden', 'Only maintainers and owners can see the trash')
  const offset = pageOffset(query.get('from'))
  const { nodes, total } = await api.listTrash({ path, query: { limit: pageSize, offset } })
  const deleted = nodes.find(({ id }) => id === query.get('deleted'))
  const guarded = nodes.find(({ id }) => id === refusal?.node)
  return {
    ...{ kind: 'page', status: refusal?.status ?? 200, place: { org, crumb: 'Trash' } },
    head: { title: `Trash · ${org.name}`, noIndex: true },
    facts: { org, nodes, total, offset, refusal },
    body: () => (
      <main id="main" class="page trash">
        <nav class="path" aria-label="Path to this page">
          <a href={urls.org(org.id)}>{org.name}</a>
        </nav>
        <h1>Trash</h1>
        {refusal && (
          <p class="problem" role="alert">
            {refusal.says} {refusal.href && <a href={refusal.href}>Open it</a>}
          </p>
        )}
        {guarded && <RestoreForm {...{ urls, org }} node={guarded} act="propose" label="Propose to restore" />}
        {deleted && refusal === undefined && <Undo {...{ urls, org }} node={deleted} />}
        <p class="why">
          Restoring a page brings back its text, files, history, proposals and links. A page that is not restored in
          time is removed for good.
        </p>
        {total === 0 ? <p class="empty-trash">The trash is empty.</p> : <Deleted {...{ urls, org, nodes }} />}
        <Pages base={urls.trash(org.id)} offset={offset} size={pageSize} total={total} />
      </main>
    ),
  }
}

interface ListProps {
  readonly urls: Urls
  readonly org: Org
  readonly nodes: readonly Trashed[]
}

function Deleted({ urls, org, nodes }: ListProps) {
  return (
    <ul class="rows">
      {nodes.map((node) => (
        <li>
          <div>
            <strong>{nameOf(node)}</strong>
            <small>
              Deleted <When time={node.deleted_at} />
              {node.deleted_by !== undefined && ` by ${node.deleted_by}`} · kept until <When time={node.kept_until} />
            </small>
          </div>
          {node.change_set === undefined ? (
            <RestoreForm {...{ urls, org, node }} label="Restore" />
          ) : (
            <a href={urls.changeSet(org.id, node.change_set)}>Proposal #{node.change_set}</a>
          )}
        </li>
      ))}
    </ul>
  )
}

interface NodeProps {
  readonly urls: Urls
  readonly org: Org
  readonly node: Trashed
}

/** The notice after a deletion. */
function Undo({ urls, org, node }: NodeProps) {
  return (
    <div class="notice undo" role="status">
      <p>
        <strong>{nameOf(node)}</strong> was deleted.
      </p>
      <RestoreForm {...{ urls, org, node }} label="Undo" />
    </div>
  )
}

interface FormProps extends NodeProps {
  readonly label: string
  readonly act?: 'restore' | 'propose'
}

function RestoreForm({ urls, org, node, label, act = 'restore' }: FormProps) {
  return (
    <form method="post" action={urls.trash(org.id)}>
      <input type="hidden" name="node" value={node.id} />
      <input type="hidden" name="deleted_at" value={node.deleted_at} />
      <input type="hidden" name="title" value={nameOf(node)} />
      <button class="btn" type="submit" name="act" value={act} aria-label={`${label}: ${nameOf(node)}`}>
        {label === 'Undo' && <Icon name="undo" size={15} />}
        {label}
      </button>
    </form>
  )
}

function nameOf({ id, title }: Trashed): string {
  return title.trim() === '' ? `Damaged page ${id.slice(0, 8)}` : title
}
