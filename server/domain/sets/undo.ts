/** Undoes a merged change set with a new one. */
import { v7 as newId } from 'uuid'
import { newObjectBatch } from '../../../gitstore/objects/object-batch.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import { repoExists } from '../../../gitstore/repo-folders.ts'
import { findPull } from '../../../index/derived/pulls.ts'
import { AppError, type ErrorCode } from '../../base/errors.ts'
import { authorizeOrg, type OrgAccess } from '../access.ts'
import { callerOf, type Person } from '../actor.ts'
import { readTree } from '../branches/revisions.ts'
import { requireBytesLeft } from '../byte-quota.ts'
import { readContent } from '../format/node-format.ts'
import { main, nodeRepo } from '../layout.ts'
import { readSet, type SetItem, setsOf } from '../ledger/set-ledger.ts'
import { semaphore } from '../pulls/branch-updates.ts'
import { reverted, titleOfUndo } from '../pulls/undo.ts'
import type { Ctx, RequestCtx } from '../services.ts'
import type { Body, Path, SetAt } from '../targets.ts'
import { type BuiltItems, buildDeletion, type ChangeItem, findRestored, type RestoredItem } from './items.ts'
import { openBuilt } from './open.ts'
import { findPage } from './state.ts'
import { type ChangeSet, findSet, settleSets } from './views.ts'

/** A page in which nothing is left to undo. */
interface LeftOut {
  readonly node_id: string
  readonly reason: string
}

interface Undone {
  readonly change_set: ChangeSet
  readonly left_out: readonly LeftOut[]
}

/**
 * Opens a set that undoes a merged one. It reverts changes, deletes created pages, and restores deleted ones. Pages in
 * which nothing is left to undo are left out.
 *
 * @throws AppError not_merged, no_changes, item_exists, forbidden (to restore pages takes a maintainer); errors of openBuilt
 * @throws AppError merge_conflict with the `items` and their `paths`, after which nothing is proposed
 */
export async function undoChangeSet(
  ctx: RequestCtx<Person>,
  { path, body }: Path<SetAt> & Body<{ readonly title?: string }>,
): Promise<Undone> {
  const access = await authorizeOrg(ctx, path, 'editor')
  await settleSets(ctx, path.org_id)
  const row = await findSet(ctx, path)
  if (row.status !== 'merged')
    throw new AppError('not_merged', `Only a merged change set can be undone; this one is ${row.status}`)
  await requireBytesLeft(ctx, path.org_id)
  const { repo, ref } = setsOf(ctx, path.org_id)
  const sets = readRef(repo, ref)
  const { items } = sets === null ? { items: [] } : await readSet(repo, sets, row.number)
  const title = body.title ?? titleOfUndo(row)
  const { signal } = ctx.request
  return semaphore.run({ caller: callerOf(ctx), signal }, async () => {
    const { built, left } = await buildUndo(ctx, access, items, { title, signal })
    signal.throwIfAborted()
    if (built.changed.length + built.restored.length === 0)
      throw new AppError('no_changes', 'No page has anything left of this change set that could be undone')
    const description = `This undoes [proposal ${row.number}](/orgs/${path.org_id}/change-sets/${row.number}).`
    const opening = { id: newId(), title, description, is_draft: false, reviewers: [] }
    return { change_set: await openBuilt(ctx, access, opening, built), left_out: left }
  })
}

interface Undoing {
  readonly title: string
  readonly signal: AbortSignal
}

/** The codes that undoItem throws if nothing is left to undo. */
const nothingLeft: readonly ErrorCode[] = ['no_changes', 'node_not_found', 'node_exists']

/** @throws AppError merge_conflict with the `items` */
async function buildUndo(ctx: Ctx<Person>, access: OrgAccess, items: readonly SetItem[], undoing: Undoing) {
  const changed: ChangeItem[] = []
  const restored: RestoredItem[] = []
  const left: LeftOut[] = []
  const conflicts: object[] = []
  for (const item of items.filter(({ head }) => head !== undefined))
    try {
      const one = await undoItem(ctx, access, item, undoing)
      if (one.act === 'return') restored.push(one)
      else changed.push(one)
    } catch (error) {
      const code = error instanceof AppError ? error.code : undefined
      if (!(error instanceof AppError)) throw error
      if (code !== undefined && nothingLeft.includes(code)) left.push({ node_id: item.node_id, reason: error.message })
      else if (code === 'merge_conflict') {
        const title = (await findPage(ctx, access, item.node_id))?.node.title ?? ''
        conflicts.push({ node_id: item.node_id, number: item.number, title, ...error.facts })
      } else throw error
    }
  if (conflicts.length > 0) throw new AppError('merge_conflict', conflictsOf(conflicts.length), { items: conflicts })
  const built: BuiltItems = { created: [], changed, joined: [], restored, outcomes: [] }
  return { built, left }
}

function conflictsOf(count: number): string {
  return `Later commits changed the same paths of ${count} pages, so nothing was proposed. Undo the other pages by their own pull requests`
}

/** @throws AppError no_changes, node_not_found, node_exists: nothing is left; merge_conflict */
async function undoItem(
  ctx: Ctx<Person>,
  org: OrgAccess,
  { node_id, number, act }: SetItem,
  undoing: Undoing,
): Promise<ChangeItem | RestoredItem> {
  if (act === 'delete') return findRestored(ctx, org, node_id)
  const access = repoExists(nodeRepo(ctx.store, org.org.id, node_id)) ? await findPage(ctx, org, node_id) : undefined
  const onto = access && readRef(access.repo, main)
  const pull = await findPull(ctx.index.read, node_id, number)
  if (!access || !onto || !pull) throw new AppError('node_not_found', 'The page was deleted')
  if (act !== 'change') return buildDeletion(ctx, org, { node_id })
  const head = await reverted(ctx, access, pull, { actor: ctx.actor, onto, ...undoing })
  const contentAt = async (commit: string) => readContent(access.repo, await readTree(access.repo, commit))
  const move = { before: await contentAt(onto), after: await contentAt(head) }
  return { act: 'change', access, from: onto, head, draft: newObjectBatch(access.repo), move }
}
