/** Edits, closes and reopens change sets, and adds and removes their pages. */
import { listSetItems, type SetItemRow } from '../../../index/derived/change-sets.ts'
import { findPull, type PullRow } from '../../../index/derived/pulls.ts'
import { AppError, invalid } from '../../base/errors.ts'
import { authorizeOrg, type NodeAccess, type OrgAccess, requireRole } from '../access.ts'
import { callerOf, type Person } from '../actor.ts'
import { requireRoomFor } from '../byte-quota.ts'
import { refuseLongText } from '../format/limits.ts'
import { readResult } from '../indexing/index-node.ts'
import { changedBy } from '../ledger/changed-by.ts'
import { type PullAct, readPull } from '../ledger/ledger.ts'
import type { SetAct, SetItem, SetRecord } from '../ledger/set-ledger.ts'
import { semaphore } from '../nodes/batch-input.ts'
import { type PullPatch, patchPull, pinOf } from '../pulls/pulls.ts'
import { requireReviewers, withSince } from '../pulls/reviewers.ts'
import type { Ctx, RequestCtx } from '../services.ts'
import type { Body, Path, SetAt } from '../targets.ts'
import { draftChange, refuseOtherSet } from './adding.ts'
import { discardLeft } from './discard.ts'
import { type BuiltItems, buildItems, type ItemsInput, type Outcome, refuseManyItems } from './items.ts'
import { findShown, write } from './open.ts'
import { withReturned } from './restorations.ts'
import { hasReturned, type LockedSets, type Part, readLocked } from './set-changes.ts'
import { findPage } from './state.ts'
import { type ChangeSet, findSet, settleSets } from './views.ts'

export interface SetPatch {
  readonly title?: string
  readonly description?: string
  readonly is_draft?: boolean
  /** Ids of members. They replace the reviewers. */
  readonly reviewers?: readonly string[]
  readonly status?: 'open' | 'closed'
  readonly add?: ItemsInput
  /** Ids of pages. */
  readonly remove?: readonly string[]
}

interface Changed {
  readonly change_set: ChangeSet
  /** What became of `add.nodes`. */
  readonly nodes?: readonly Outcome[]
}

const nothing: BuiltItems = { created: [], changed: [], joined: [], restored: [], outcomes: [] }

/**
 * Changes a set, together with the pull requests of its pages.
 *
 * @throws AppError change_set_not_found, merged, closed, item_exists, and as buildItems and patchPull; ValidationError
 */
export async function updateChangeSet(
  ctx: RequestCtx<Person>,
  { path, body }: Path<SetAt> & Body<SetPatch>,
): Promise<Changed> {
  const access = await authorizeOrg(ctx, path, 'contributor')
  await settleSets(ctx, path.org_id)
  const row = await findSet(ctx, path)
  const need = needOf(row)
  requireRole(access, need)
  refusePatch(body)
  if (row.status === 'merged') throw mergedError()
  if (body.title !== undefined || body.description !== undefined)
    await requireRoomFor(ctx, path.org_id, body.description ?? '')
  const { signal } = ctx.request
  return semaphore.run({ caller: callerOf(ctx), signal }, async () => {
    const title = body.title ?? row.title
    const set = { id: row.id, title, is_draft: body.is_draft ?? row.is_draft === 1 }
    const built = body.add ? await buildItems(ctx, access, body.add, { list: ['body', 'add'], title }) : nothing
    const items = await listSetItems(ctx.index.read, path.org_id, [path.number])
    const change = async () => {
      const { parts, gone } = await partsOf(ctx, access, items, body)
      const reviewers =
        body.reviewers && (await requireReviewers(ctx, path, body.reviewers, row.author_id ?? undefined))
      const decide = async (sets: LockedSets, items: readonly SetItem[]) => {
        if (hasReturned(ctx, path.org_id, gone)) throw returnedError()
        return eventOf(ctx, await readLocked(sets, path.number), body, { items, reviewers })
      }
      return write(ctx, access, set, built, decide, { need, parts })
    }
    const isReopening = body.status === 'open'
    const record = await (isReopening ? withReturned(ctx, path.org_id, row, items, change) : change())
    await returnToTrash(ctx, path.org_id, items, body)
    const change_set = await readResult(ctx, () => findShown(ctx, access, record ?? { number: path.number }))
    return { change_set, ...(body.add?.nodes && { nodes: built.outcomes }) }
  })
}

/** The need of a change: the opener's set, or the editor role. */
export function needOf({ author, author_email, author_id }: Pick<PullRow, 'author' | 'author_email' | 'author_id'>) {
  return { set: { author: { name: author, email: author_email }, ...(author_id !== null && { author_id }) } }
}

/** @throws ValidationError */
function refusePatch({ title, description, status, add, remove }: SetPatch): void {
  if (title !== undefined && title.trim() === '')
    throw invalid(['body', 'title'], 'Say in a few words what the change set does', title)
  refuseLongText(['body', 'description'], description ?? '')
  if (status !== undefined && (add || remove))
    throw invalid(
      ['body', 'status'],
      'Close or reopen the change set, or change its pages, but not both at once',
      status,
    )
}

function mergedError(): AppError {
  return new AppError('merged', 'A merged change set cannot be changed')
}

function returnedError(): AppError {
  const detail = 'A page of the change set has just come back from the trash; try again in a moment'
  return new AppError('busy', detail)
}

interface Given {
  /** The new items. */
  readonly items: readonly SetItem[]
  readonly reviewers: readonly { readonly id: string; readonly name: string }[] | undefined
}

/** The event of the patch, with the record after it. Undefined if nothing changes. */
export function eventOf(
  ctx: Ctx<Person>,
  before: SetRecord,
  { title, description, is_draft, status, remove = [], add }: SetPatch,
  { items: added, reviewers }: Given,
): SetAct | undefined {
  if (before.status === 'merged') throw mergedError()
  if (before.status === 'closed' && (add || remove.length > 0))
    throw new AppError('closed', 'The change set is closed; reopen it first')
  refuseListed(before, added)
  const removed = new Set(remove)
  const items = [...before.items.filter(({ node_id }) => !removed.has(node_id)), ...added]
  refuseManyItems(items.length)
  const event = changedBy(ctx, ctx.actor)
  const { reviewers: known = [], ...rest } = before
  const asked = reviewers === undefined ? known : withSince(reviewers, known, event.at)
  const changed: SetRecord = {
    ...rest,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(is_draft !== undefined && { is_draft }),
    ...(asked.length > 0 && { reviewers: asked }),
    items,
  }
  const isEnding = status === 'closed' && before.status === 'open'
  const isReopened = status === 'open' && before.status === 'closed'
  const isSame =
    JSON.stringify(changed) ===
    JSON.stringify({ ...rest, ...(known.length > 0 && { reviewers: known }), items: before.items })
  if (isSame && !isEnding && !isReopened) return undefined
  const { ended: _, ...open } = changed
  const act = { userId: ctx.actor.id, changes: differencesOf(before, changed) }
  if (isEnding) return { ...act, event: 'close', record: { ...changed, ...event, status: 'closed', ended: event } }
  if (isReopened) return { ...act, event: 'reopen', record: { ...open, ...event, status: 'open' } }
  return { ...act, event: 'edit', record: { ...changed, ...event } }
}

/** Refuses pages that the set lists already. Their items may be closed. @throws AppError item_exists */
function refuseListed({ number, items }: SetRecord, added: readonly SetItem[]): void {
  const known = items.find((item) => added.some(({ node_id }) => node_id === item.node_id))
  if (known === undefined) return
  const detail = 'A page of this change set has an item already; take the page out first, or reopen the change set'
  throw new AppError('item_exists', detail, { number: known.number, change_set: number })
}

/** The values before and after of each field that a timeline shows. The description has only its name. */
function differencesOf(before: SetRecord, after: SetRecord): NonNullable<SetAct['changes']> {
  const changes: Record<string, unknown[]> = {}
  for (const field of ['title', 'is_draft'] as const)
    if (before[field] !== after[field]) changes[field] = [before[field], after[field]]
  if (before.description !== after.description) changes.description = []
  const [asked, asking] = [before, after].map(({ reviewers = [] }) => reviewers.map(({ id }) => id))
  if (asked?.join() !== asking?.join()) changes.reviewers = [asked, asking]
  const [had, has] = [before, after].map(({ items }) => items.map(({ node_id }) => node_id))
  if (had?.join() !== has?.join()) changes.items = [had, has]
  return changes
}

interface Parts {
  /** The pages whose pull requests change with the set. */
  readonly parts: readonly Part[]
  /** The ids of those that are in the trash, or purged. */
  readonly gone: readonly string[]
}

async function partsOf(
  ctx: Ctx<Person>,
  access: OrgAccess,
  items: readonly SetItemRow[],
  patch: SetPatch,
): Promise<Parts> {
  const { status, is_draft, remove = [] } = patch
  if (status === undefined && is_draft === undefined && remove.length === 0) return { parts: [], gone: [] }
  const removed = new Set(remove)
  const known = new Set(items.map(({ node_id }) => node_id))
  const unknown = remove.findIndex((id) => !known.has(id))
  if (unknown >= 0) throw invalid(['body', 'remove', unknown], 'The change set has no such page', remove[unknown])
  const parts: Part[] = []
  const gone: string[] = []
  for (const { node_id, pull, act } of items) {
    const page = await findPage(ctx, access, node_id)
    if (page === undefined) {
      gone.push(node_id)
      continue
    }
    const row = await findPull(ctx.index.read, node_id, pull)
    if (removed.has(node_id)) parts.push(partOfRemoved(ctx, page, pull, act))
    else if (row && row.status !== 'merged') parts.push(partOfPatched(ctx, page, pull, patch))
  }
  return { parts, gone }
}

/** Sends pages back to the trash that the set does not restore any more. */
async function returnToTrash(
  ctx: Ctx<Person>,
  orgId: string,
  items: readonly SetItemRow[],
  { status, remove = [] }: SetPatch,
): Promise<void> {
  const left = items.filter(
    ({ node_id, act }) => act === 'restore' && (status === 'closed' || remove.includes(node_id)),
  )
  for (const { node_id: nodeId } of left)
    await discardLeft(ctx, orgId, nodeId).catch((error: unknown) => {
      ctx.log.warn({ err: error, orgId, nodeId }, 'a page could not go back to the trash; the sweep retries')
    })
}

/** An item whose pull request is closed, opened again or edited with the set. */
function partOfPatched(ctx: Ctx<Person>, access: NodeAccess, number: number, { status, is_draft }: SetPatch): Part {
  const patch: PullPatch = { ...(status !== undefined && { status }), ...(is_draft !== undefined && { is_draft }) }
  return {
    access,
    refs: [pinOf(access, number)],
    decide: async ({ ledger }) => {
      const before = await readPull(access.repo, ledger, number)
      const isItsOwn = before.status === 'merged' || (before.status === 'closed' && status !== 'open')
      if (isItsOwn) return { acts: [], moves: [] }
      const { act, before: moves, after } = await patchPull(ctx, access, ledger, number, patch)
      if (act?.event === 'reopen') await refuseOtherSet(ctx, access, ledger)
      return { acts: act ? [act] : [], moves, after }
    },
  }
}

/** A page that leaves the set. A change stays an open pull request, and others close. */
function partOfRemoved(ctx: Ctx<Person>, access: NodeAccess, number: number, kind: SetItem['act']): Part {
  return {
    access,
    refs: [pinOf(access, number)],
    decide: async ({ ledger }) => {
      const { change_set: _, ...before } = await readPull(access.repo, ledger, number)
      if (before.status === 'merged')
        throw new AppError('merged', `“${access.node.title}” was merged already, and stays in the change set`)
      if (kind === 'change' || before.status === 'closed') {
        const record = { ...before, ...changedBy(ctx, ctx.actor) }
        const act: PullAct = {
          event: 'edit',
          record,
          userId: ctx.actor.id,
          changes: draftChange(before, before.is_draft),
        }
        return { acts: [act], moves: [] }
      }
      const { act, before: moves, after } = await patchPull(ctx, access, ledger, number, { status: 'closed' })
      if (!act) return { acts: [], moves: [] }
      const { change_set: __, ...record } = act.record
      return { acts: [{ ...act, record }], moves, after }
    },
  }
}
