/** Open proposals of a node: by their branch, and those of a user. */

import type { Api } from '../../../spec/client/api.ts'
import type { NodePath } from '../edits.ts'
import type { PageContext } from '../page-context.ts'
import type { AtNode } from './node-head.tsx'
import { isEditable } from './rights.ts'
import type { Pull } from './talk.ts'

export type { Pull }

/** `pages`: pages of open proposals that are searched for a branch. `own`: proposals of the user that are named. */
const most = { pages: 10, perPage: 100, own: 5 } as const

/** Finds the open proposal from this branch. One into `main` comes first. */
export async function findOpenPull(api: Api, path: NodePath, branch: string): Promise<Pull | undefined> {
  const found: Pull[] = []
  for (let page = 0; page < most.pages; page++) {
    const query = { limit: most.perPage, offset: page * most.perPage }
    const { pull_requests, total } = await api.listPulls({ path, query })
    found.push(...pull_requests.filter(({ source_branch }) => source_branch === branch))
    if ((page + 1) * most.perPage >= total) break
  }
  return found.find(({ target_branch }) => target_branch === 'main') ?? found[0]
}

/** Finds open proposals that the visitor may edit. `taken`: that of several pages that has the page. */
export async function findOwnPulls({ api, person }: PageContext, { path, org }: AtNode) {
  const { pull_requests } = await api.listPulls({ path, query: { limit: most.perPage } })
  const own = pull_requests.filter((pull) => pull.author_id === person?.id && isEditable(pull, org, person))
  return { own: own.slice(0, most.own), taken: pull_requests.find((pull) => pull.change_set !== undefined)?.change_set }
}
