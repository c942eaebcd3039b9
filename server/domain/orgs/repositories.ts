/** The clone URLs of an organisation. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { listNodesAfter, listNodeTitles } from '../../../index/derived/node-queries.ts'
import { listProposed } from '../../../index/derived/proposed-nodes.ts'
import { authorizeOrg, type OrgAccess } from '../access.ts'
import { cloneUrl } from '../layout.ts'
import { type Page, pageOf } from '../pagination.ts'
import type { RequestCtx } from '../services.ts'
import type { OrgAt, Path, Query } from '../targets.ts'

export interface Repository {
  /** Absent for the organisation's own repository, `org.git`. */
  readonly node_id?: string
  /** The node's title, or the organisation's name. */
  readonly title: string
  readonly clone_url: string
}

/** The service's URL as the caller reaches it, without a trailing slash. */
/** Rows read at a time. 10,000 blocked the event loop for 0.1 s on a busy machine. */
const rowsAtOnce = 1_000

/**
 * Lists the repositories that the caller may clone: those of nodes, oldest first. Owners get the organisation's first,
 * then those of proposed nodes, because only owners mirror what proposes them.
 */
export async function listRepositories(ctx: RequestCtx, { path, query: page }: Path<OrgAt> & Query<Page>) {
  const { base } = ctx.request
  const access = await authorizeOrg(ctx, path, 'public')
  const own = await ownRepositories(ctx, access)
  const shown = own.slice(page.offset, page.offset + page.limit)
  const { rows, total } = await listNodeTitles(ctx.index.read, access.sees, {
    limit: page.limit - shown.length,
    offset: Math.max(0, page.offset - own.length),
  })
  const repositories: Repository[] = [
    ...shown,
    ...rows.map(({ id, title }) => ({ node_id: id, title, clone_url: cloneUrl(base, path.org_id, id) })),
  ]
  return { repositories, ...pageOf(page, total + own.length) }
}

/** Lists all clone URLs, in the order of `listRepositories`. */
export async function listCloneUrls(ctx: RequestCtx, { path }: Path<OrgAt>): Promise<string[]> {
  const { base } = ctx.request
  const access = await authorizeOrg(ctx, path, 'public')
  const urls = (await ownRepositories(ctx, access)).map(({ clone_url }) => clone_url)
  let last = { created_at: '', id: '' }
  for (;;) {
    const rows = await listNodesAfter(ctx.index.read, access.sees, last, rowsAtOnce)
    urls.push(...rows.map(({ id }) => cloneUrl(base, path.org_id, id)))
    last = rows.at(-1) ?? last
    if (rows.length < rowsAtOnce) return urls
    await nextTurn()
  }
}

/** Returns org.git, which contains the members, and the proposed nodes. Empty if the caller is not an owner. */
async function ownRepositories(
  { index, request: { base } }: RequestCtx,
  { org, role }: OrgAccess,
): Promise<Repository[]> {
  if (role !== 'owner') return []
  const proposed = await listProposed(index.read, org.id)
  const urls = proposed.map(({ id, title }) => ({ node_id: id, title, clone_url: cloneUrl(base, org.id, id) }))
  return [{ title: org.name, clone_url: cloneUrl(base, org.id) }, ...urls]
}
