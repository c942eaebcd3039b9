/** Branches and tags. */
import * as branches from '../domain/branches/branches.ts'
import { restoreBranch } from '../domain/branches/restore.ts'
import { listTags } from '../domain/branches/tags.ts'
import type { HandlersOf } from '../http/contract/operations.ts'
import { created } from '../http/responses/responses.ts'

export const branchRoutes: HandlersOf<
  'listBranches' | 'createBranch' | 'getBranch' | 'deleteBranch' | 'restoreBranch' | 'listTags'
> = {
  listBranches: (deps, actor, { path, query }) => branches.listBranches(deps, actor, path, query),
  createBranch: async (deps, actor, { path, body }) => {
    const branch = await branches.createBranch(deps, actor, path, body)
    return created(`/orgs/${path.org_id}/nodes/${path.node_id}/branches/${encodeURIComponent(branch.name)}`, branch)
  },
  getBranch: (deps, actor, { path }) => branches.readBranch(deps, actor, path),
  deleteBranch: (deps, actor, { path }) => branches.deleteBranch(deps, actor, path),
  restoreBranch: async (deps, actor, { path, body }) => {
    const commit = await restoreBranch(deps, actor, path, body)
    const tree = `/orgs/${path.org_id}/nodes/${path.node_id}/tree/${encodeURIComponent(path.branch)}`
    return created(`${tree}/commits/${commit.id}`, commit)
  },
  listTags: (deps, actor, { path, query }) => listTags(deps, actor, path, query),
}
