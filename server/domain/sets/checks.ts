/** Checks of change sets. One report is about the heads of all pages, for programs that build the whole. */
import { AppError } from '../../base/errors.ts'
import { authorizeOrg } from '../access.ts'
import type { Person } from '../actor.ts'
import { requireRoomFor } from '../byte-quota.ts'
import { type Check, toReport } from '../consent/check-views.ts'
import { ledgerRef } from '../layout.ts'
import type { CheckRecord } from '../ledger/checks.ts'
import { readPull } from '../ledger/ledger.ts'
import { type CheckInput, isReachedByMain, requireUrl, writeReport } from '../review/checks.ts'
import type { Ctx } from '../services.ts'
import type { Body, Path, SetAt } from '../targets.ts'
import { movedError, requireReviewed } from './reviews.ts'
import { changeSet, type Part, readLocked } from './set-changes.ts'
import { judgeSet } from './state.ts'
import { findSet, settleSets } from './views.ts'

interface SetCheckInput extends CheckInput {
  /** The version that was checked. */
  readonly expected_version: string
}

/**
 * Reports a check of the heads of all open pages, in one transaction. The same report changes nothing.
 *
 * @throws AppError change_set_not_found, merged, closed, empty, head_moved, check_exists, too_many_checks
 * @throws ValidationError
 */
export async function putSetCheck(
  ctx: Ctx<Person>,
  { path, body }: Path<SetAt & { readonly name: string }> & Body<SetCheckInput>,
): Promise<Check> {
  const { name } = path
  const access = await authorizeOrg(ctx, path, 'editor')
  const { expected_version: expected, ...input } = body
  requireUrl(input)
  await settleSets(ctx, path.org_id)
  const row = await findSet(ctx, path)
  if (row.status !== 'open') throw new AppError(row.status, `The change set is ${row.status}`)
  const { open, ended, version } = await judgeSet(ctx, access, row)
  if (version !== expected) throw movedError()
  if (open.length === 0) throw new AppError('empty', 'The change set has no open page that a check could be about')
  await requireRoomFor(ctx, path.org_id, '')
  const records: CheckRecord[] = []
  const parts = open.map(({ access: page, pull, head }): Part => {
    const { repo } = page
    const decide: Part['decide'] = async ({ ledger }) => {
      requireReviewed(repo, await readPull(repo, ledger, pull.number), head)
      const isOnMain = await isReachedByMain(page, head)
      const { record, to } = await writeReport(ctx, page, ledger, { commit: head, isOnMain, name, input })
      records.push(record)
      return { moves: to === undefined ? [] : [{ repo, ref: ledgerRef, to }] }
    }
    return { access: page, refs: [], decide }
  })
  const decide = async (locked: Parameters<typeof readLocked>[0]) => {
    const { status, items } = await readLocked(locked, path.number)
    if (status !== 'open' || items.length !== open.length + ended.length) throw movedError()
    return undefined
  }
  await changeSet(ctx, { orgId: path.org_id, need: 'editor', parts, drafts: [], decide })
  const [report] = records
  if (report === undefined) throw new Error('The report was not written')
  return { name, ...toReport(report) }
}
