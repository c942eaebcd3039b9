/** Brings the pages of a change set up to date: rebases their branches onto `main`. All of them move, or none. */
import type { RefName } from '../../../gitstore/refs/ref-transaction.ts'
import type { Oid } from '../../../gitstore/repo.ts'
import { AppError } from '../../base/errors.ts'
import { authorizeOrg, type NodeAccess, requireRole } from '../access.ts'
import { callerOf, type Person } from '../actor.ts'
import { headMovedError } from '../branches/branch-commits.ts'
import { requireBytesLeft } from '../byte-quota.ts'
import { readResult } from '../indexing/index-node.ts'
import { branchRef } from '../layout.ts'
import { rebased, recheckUpdate, requireRebasable, semaphore } from '../pulls/branch-updates.ts'
import type { Ctx, RequestCtx } from '../services.ts'
import type { Path, SetAt } from '../targets.ts'
import { needOf } from './changes.ts'
import { findShown } from './open.ts'
import { changeSet, type Part, readLocked } from './set-changes.ts'
import { type LoadedItem, loadItems } from './state.ts'
import { type ChangeSet, findSet, settleSets } from './views.ts'

/**
 * Rebases the branch of each item that is behind.
 *
 * @throws AppError change_set_not_found, merged, closed, head_moved, too_many_commits, pull_request_required, busy,
 *   quota_exceeded; merge_conflict with the `items` and their `paths`, after which nothing has moved
 */
export async function updateChangeSetBranches(
  ctx: RequestCtx<Person>,
  { path }: Path<SetAt>,
): Promise<{ change_set: ChangeSet }> {
  const access = await authorizeOrg(ctx, path, 'contributor')
  await settleSets(ctx, path.org_id)
  const row = await findSet(ctx, path)
  const need = needOf(row)
  requireRole(access, need)
  if (row.status !== 'open') throw new AppError(row.status, `The change set is ${row.status}`)
  await requireBytesLeft(ctx, path.org_id)
  const { signal } = ctx.request
  return semaphore.run({ caller: callerOf(ctx), signal }, async () => {
    const { loaded } = await loadItems(ctx, access, row)
    const parts = await rebaseAll(ctx, loaded, signal)
    signal.throwIfAborted()
    if (parts.length > 0)
      await changeSet(ctx, {
        ...{ orgId: path.org_id, need, parts, drafts: [] },
        decide: async (sets) => {
          const { status } = await readLocked(sets, path.number)
          if (status !== 'open') throw new AppError(status, `The change set is ${status}`)
          return undefined
        },
      })
    return { change_set: await readResult(ctx, () => findShown(ctx, access, path)) }
  })
}

/** The branch of an item, and the commits that its rebase begins with. */
interface Behind {
  readonly access: NodeAccess
  readonly source: RefName
  readonly from: Oid
  readonly onto: Oid
}

/** Rebases in memory and in objects, without a lock. @throws AppError merge_conflict with the `items` */
async function rebaseAll(ctx: Ctx<Person>, items: readonly LoadedItem[], signal: AbortSignal): Promise<Part[]> {
  const conflicts: object[] = []
  const parts: Part[] = []
  for (const { access, pull, from: onto, head: from, title } of items) {
    if (onto === null || (await access.history.contains(from, onto))) continue
    const behind: Behind = { access, from, onto, source: { repo: access.repo, ref: branchRef(pull.source_branch) } }
    requireRole(access, { ref: behind.source.ref })
    await requireRebasable(ctx, access, behind)
    try {
      parts.push(partOf(ctx, behind, await rebased(ctx, access, { from, onto, files: undefined, signal })))
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'merge_conflict') throw error
      conflicts.push({ node_id: access.node.id, number: pull.number, title, ...error.facts })
    }
  }
  if (conflicts.length === 0) return parts
  const detail = `Both sides changed the same paths of ${conflicts.length} pages, so nothing was changed. Update the branch of each of these pages, or take the page out`
  throw new AppError('merge_conflict', detail, { items: conflicts })
}

function partOf(ctx: Ctx<Person>, { access, ...behind }: Behind, head: Oid): Part {
  const { source, from } = behind
  return {
    access,
    refs: [source],
    decide: async ({ ledger, current }) => {
      if (current(source) !== from)
        throw headMovedError(
          'The branch of a page has moved since the update began; nothing was changed',
          current(source),
        )
      const to = await recheckUpdate(ctx, access, { ...behind, head }, ledger)
      return { ledger: to, moves: [{ ...source, to: head }] }
    },
  }
}
