/** Muted nodes and pull requests. An inbox has only what asks for or mentions the user there. */
import { deleteReadMark, listMuted, setReadMark } from '../../../index/credentials/read-marks.ts'
import { readPullsNow } from '../../../index/derived/involved.ts'
import { readTitles } from '../../../index/derived/node-queries.ts'
import { findRole } from '../../../index/derived/org-queries.ts'
import { authorizeNode, authorizeOrg, seesOf } from '../../domain/access.ts'
import type { Person } from '../../domain/actor.ts'
import type { Ctx } from '../../domain/services.ts'
import type { NodeAt, Path, Query } from '../../domain/targets.ts'
import { groupedBy } from './grouped-by.ts'
import { keyOfPull } from './reasons.ts'

/** Mutes a node. Pull requests are muted by their read mark. @throws errors of `authorizeNode` */
export async function muteNode(ctx: Ctx<Person>, { path }: Path<NodeAt>): Promise<void> {
  await authorizeNode(ctx, path, 'reader')
  const mark = { account_id: ctx.actor.id, org_id: path.org_id, node_id: path.node_id, number: 0 }
  await ctx.credentials.write((trx) => setReadMark(trx, { ...mark, entry: 0, muted: 1, at: ctx.now().toISOString() }))
}

/** Ends muting a node. It may be deleted. @throws errors of `authorizeOrg` */
export async function unmuteNode(ctx: Ctx<Person>, { path: { org_id, node_id } }: Path<NodeAt>): Promise<void> {
  await authorizeOrg(ctx, { org_id }, 'reader')
  await ctx.credentials.write((trx) => deleteReadMark(trx, { account_id: ctx.actor.id, node_id, number: 0 }))
}

interface MuteView {
  readonly org_id: string
  readonly node_id: string
  /** Empty for a change set, which has the id of the organisation. */
  readonly node_title: string
  /** Absent for a node. */
  readonly number?: number
  /** The title of the pull request. */
  readonly title?: string
}

/** Lists the muted nodes and pull requests that the caller may see. The newest come first. */
export async function listMutes(ctx: Ctx<Person>, { query: { node_id } }: Query<{ readonly node_id?: string }>) {
  const all = await listMuted(ctx.credentials.read, ctx.actor.id)
  const rows = all.filter((row) => node_id === undefined || row.node_id === node_id)
  const titles = new Map<string, string>()
  for (const [orgId, some] of groupedBy(rows, ({ org_id }) => org_id)) {
    if ((await findRole(ctx.index.read, orgId, ctx.actor.id)) === undefined) continue
    const ids = some.map((row) => row.node_id)
    titles.set(orgId, '')
    for (const [id, title] of await readTitles(ctx.index.read, seesOf(orgId), ids)) titles.set(id, title)
  }
  const pulls = await readPullsNow(
    ctx.index.read,
    rows.filter(({ number }) => number > 0),
  )
  const titleOf = new Map(pulls.map((pull) => [keyOfPull(pull.node_id, pull.number), pull.title]))
  const mutes = rows.flatMap(({ org_id, node_id, number }): MuteView[] => {
    const [node_title, title] = [titles.get(node_id), titleOf.get(keyOfPull(node_id, number))]
    if (node_title === undefined || (number > 0 && title === undefined)) return []
    return [{ org_id, node_id, node_title, ...(title !== undefined && { number, title }) }]
  })
  return { mutes }
}
