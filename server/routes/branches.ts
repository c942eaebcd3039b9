/** Branches and tags. */
import { createBranch, deleteBranch, getBranch, listBranches } from '../domain/branches/branches.ts'
import { restoreBranch } from '../domain/branches/restore.ts'
import { listTags } from '../domain/branches/tags.ts'
import type { Handlers } from '../http/contract/operations.ts'
import { createdAt } from '../http/responses/responses.ts'

export const branchRoutes = {
  listBranches,
  createBranch: createdAt('/orgs/{org_id}/nodes/{node_id}/branches/{name}', createBranch),
  getBranch,
  deleteBranch,
  restoreBranch: createdAt('/orgs/{org_id}/nodes/{node_id}/tree/{branch}/commits/{id}', restoreBranch),
  listTags,
} satisfies Partial<Handlers>
