/** The clone URLs of an organisation. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { listNodesAfter, listNodeTitles } from '../../../index/derived/node-queries.ts'
import type { Deps } from '../../base/deps.ts'
import { authorizeOrg, type OrgAccess } from '../access.ts'
import type { Actor } from '../actor.ts'
import { cloneUrl } from '../layout.ts'
import { type Page, pageOf } from '../pagination.ts'
import type { OrgAt } from '../targets.ts'

export interface Repository {
  /** Absent for the organisation's own, `org.git`. */
  readonly node_id?: string
  /** The node's, or the name of the organisation. */
  readonly title: string
  readonly clone_url: string
}

/** The service's address as the caller reaches it, without a slash at its end. */
interface Addressed {
  readonly base: string
}

/** Rows read at a time: 10,000 took 0.1 s on a busy machine, which blocks the event loop. */
const rowsAtOnce = 1_000

/** The repositories that the caller may clone: for owners the organisation's own first, then the nodes', oldest first. */
export async function listRepositories(deps: Deps, actor: Actor, at: OrgAt, input: Page & Addressed) {
  const { base, ...page } = input
  const access = await authorizeOrg(deps, actor, at, 'public')
  const own = ownRepository(access, base)
  const { rows, total } = await listNodeTitles(deps.index.read, at.orgId, {
    limit: page.limit - (page.offset === 0 ? own.length : 0),
    offset: Math.max(0, page.offset - own.length),
  })
  const repositories: Repository[] = [
    ...own.slice(page.offset),
    ...rows.map(({ id, title }) => ({ node_id: id, title, clone_url: cloneUrl(base, at.orgId, id) })),
  ]
  return { repositories, ...pageOf(page, total + own.length) }
}

/** All of them, in the order of the list. */
export async function listCloneUrls(deps: Deps, actor: Actor, at: OrgAt, { base }: Addressed): Promise<string[]> {
  const urls = ownRepository(await authorizeOrg(deps, actor, at, 'public'), base).map(({ clone_url }) => clone_url)
  let last = { created_at: '', id: '' }
  for (;;) {
    const rows = await listNodesAfter(deps.index.read, at.orgId, last, rowsAtOnce)
    urls.push(...rows.map(({ id }) => cloneUrl(base, at.orgId, id)))
    last = rows.at(-1) ?? last
    if (rows.length < rowsAtOnce) return urls
    await nextTurn()
  }
}

/** Only for owners, since it contains the members. */
function ownRepository({ org, role }: OrgAccess, base: string): Repository[] {
  return role === 'owner' ? [{ title: org.name, clone_url: cloneUrl(base, org.id) }] : []
}
