/** Branches and tags. */
import * as branches from '../domain/branches/branches.ts'
import { restoreBranch } from '../domain/branches/restore.ts'
import { listTags } from '../domain/branches/tags.ts'
import type { HandlersOf } from '../http/contract/operations.ts'
import { created } from '../http/responses/responses.ts'
import { branchAt, nodeAt } from './path-params.ts'

export const branchRoutes: HandlersOf<
  'listBranches' | 'createBranch' | 'getBranch' | 'deleteBranch' | 'restoreBranch' | 'listTags'
> = {
  listBranches: (deps, actor, { path, query }) => branches.listBranches(deps, actor, nodeAt(path), query),
  createBranch: async (deps, actor, { path, body }) => {
    const branch = await branches.createBranch(deps, actor, nodeAt(path), body)
    return created(`/orgs/${path.org_id}/nodes/${path.node_id}/branches/${encodeURIComponent(branch.name)}`, branch)
  },
  getBranch: (deps, actor, { path }) => branches.readBranch(deps, actor, branchAt(path)),
  deleteBranch: (deps, actor, { path }) => branches.deleteBranch(deps, actor, branchAt(path)),
  restoreBranch: async (deps, actor, { path, body }) => {
    const commit = await restoreBranch(deps, actor, branchAt(path), body)
    const tree = `/orgs/${path.org_id}/nodes/${path.node_id}/tree/${encodeURIComponent(path.branch)}`
    return created(`${tree}/commits/${commit.id}`, commit)
  },
  listTags: (deps, actor, { path, query }) => listTags(deps, actor, nodeAt(path), query),
}
