/** Branches and tags. */
import * as branches from '../domain/branches/branches.ts'
import * as tags from '../domain/branches/tags.ts'
import type { Handlers } from '../http/operations.ts'
import { created } from '../http/responses.ts'

export const branchRoutes: Pick<Handlers, 'listBranches' | 'createBranch' | 'getBranch' | 'deleteBranch' | 'listTags'> =
  {
    listBranches: (deps, actor, { path, query }) =>
      branches.listBranches(deps, actor, path.org_id, path.node_id, query),
    createBranch: async (deps, actor, { path, body }) => {
      const branch = await branches.createBranch(deps, actor, path.org_id, path.node_id, body)
      return created(`/orgs/${path.org_id}/nodes/${path.node_id}/branches/${encodeURIComponent(branch.name)}`, branch)
    },
    getBranch: (deps, actor, { path }) => branches.readBranch(deps, actor, path.org_id, path.node_id, path.branch),
    deleteBranch: (deps, actor, { path }) => branches.deleteBranch(deps, actor, path.org_id, path.node_id, path.branch),
    listTags: (deps, actor, { path, query }) => tags.listTags(deps, actor, path.org_id, path.node_id, query),
  }
