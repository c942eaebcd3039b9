/** The organisations whose events a user's inbox has. */
import { listOrgsOf } from '../../../index/derived/org-queries.ts'
import { type Log, listLogs } from '../../../index/log/events.ts'
import * as limits from '../../base/limits.ts'
import type { Person } from '../../domain/actor.ts'
import type { Ctx } from '../../domain/services.ts'

export interface InboxOrgs {
  readonly logs: readonly Log[]
  readonly names: ReadonlyMap<string, string>
}

/** Lists the organisations here of which the user is a member, with their logs. Leaves out those without a log. */
export async function listInboxOrgs(ctx: Ctx<Person>): Promise<InboxOrgs> {
  const { rows } = await listOrgsOf(ctx.index.read, ctx.actor.id, { limit: limits.inboxOrgs, offset: 0 })
  const logs = await listLogs(
    ctx.events.read,
    rows.map(({ id }) => id),
  )
  return { logs, names: new Map(rows.map(({ id, name }) => [id, name])) }
}
