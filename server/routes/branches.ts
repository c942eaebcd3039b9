/** Branches and tags. */
import * as branches from '../domain/branches/branches.ts'
import { restoreBranch } from '../domain/branches/restore.ts'
import { listTags } from '../domain/branches/tags.ts'
import type { HandlersOf } from '../http/contract/operations.ts'
import { created } from '../http/responses/responses.ts'

export const branchRoutes: HandlersOf<
  'listBranches' | 'createBranch' | 'getBranch' | 'deleteBranch' | 'restoreBranch' | 'listTags'
> = {
  listBranches: (ctx, { path, query }) => branches.listBranches(ctx, path, query),
  createBranch: async (ctx, { path, body }) => {
    const branch = await branches.createBranch(ctx, path, body)
    return created(`/orgs/${path.org_id}/nodes/${path.node_id}/branches/${encodeURIComponent(branch.name)}`, branch)
  },
  getBranch: (ctx, { path }) => branches.readBranch(ctx, path),
  deleteBranch: (ctx, { path }) => branches.deleteBranch(ctx, path),
  restoreBranch: async (ctx, { path, body }) => {
    const commit = await restoreBranch(ctx, path, body)
    const tree = `/orgs/${path.org_id}/nodes/${path.node_id}/tree/${encodeURIComponent(path.branch)}`
    return created(`${tree}/commits/${commit.id}`, commit)
  },
  listTags: (ctx, { path, query }) => listTags(ctx, path, query),
}
