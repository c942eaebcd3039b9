/** How far users have read conversations. These marks are the only part that does not follow from Git. */
import { deleteReadMarksUntil, setReadMark } from '../../../index/credentials/read-marks.ts'
import type { Person } from '../actor.ts'
import { findPullRow } from '../pulls/pulls.ts'
import type { Ctx, Services } from '../services.ts'
import type { Body, Path, PullAt } from '../targets.ts'
import { authorizeOwner } from './conversations.ts'

export interface ReadMarkInput {
  /** The number of the last entry that was read. */
  readonly entry: number
  readonly muted?: boolean
  /** The source commit that was read. */
  readonly head?: string
}

/** Milliseconds after which mentions, answers and marks no longer matter: 90 days. */
export const unseenMs = 90 * 24 * 60 * 60 * 1000

/** Marks the entries up to a number, and a source commit, as read. A mark never goes back, nor beyond the last entry. */
export async function putReadMark(ctx: Ctx<Person>, { path, body }: Path<PullAt> & Body<ReadMarkInput>): Promise<void> {
  await authorizeOwner(ctx, path, 'reader')
  const { last_entry } = await findPullRow(ctx, path)
  const mark = {
    ...{ account_id: ctx.actor.id, org_id: path.org_id, node_id: path.node_id, number: path.number },
    entry: Math.min(body.entry, last_entry),
    ...(body.muted !== undefined && { muted: body.muted ? (1 as const) : (0 as const) }),
    ...(body.head !== undefined && { head: body.head }),
    at: ctx.now().toISOString(),
  }
  await ctx.credentials.write((trx) => setReadMark(trx, mark))
}

/** Deletes marks that were set more than 90 days ago. A muted conversation stays so. */
export async function forgetReadMarks(deps: Services): Promise<void> {
  const until = new Date(deps.now().getTime() - unseenMs).toISOString()
  await deps.credentials.write((trx) => deleteReadMarksUntil(trx, until))
}
