/** Pull requests. */
import { updatePullBranch } from '../domain/pulls/branch-updates.ts'
import { getPullChangesSince } from '../domain/pulls/changes-since.ts'
import { getPullChanges, getPullImpact, readPullDiff, readPullPatch } from '../domain/pulls/impact.ts'
import { mergePull } from '../domain/pulls/merges.ts'
import { listOrgPulls } from '../domain/pulls/org-pulls.ts'
import { getPull, listPullCommits, listPulls, openPull, updatePull } from '../domain/pulls/pulls.ts'
import { undoPull } from '../domain/pulls/undo.ts'
import type { Handlers } from '../http/contract/operations.ts'
import { createdAt, patch } from '../http/responses/responses.ts'

export const pullRoutes = {
  openPull: createdAt('/orgs/{org_id}/nodes/{node_id}/pull-requests/{pr.number}', asPull(openPull)),
  listPulls,
  listOrgPulls,
  getPull: asPull(getPull),
  updatePull: asPull(updatePull),
  mergePull: asPull(mergePull),
  updatePullBranch: asPull(updatePullBranch),
  undoPull: createdAt('/orgs/{org_id}/nodes/{node_id}/pull-requests/{pr.number}', asPull(undoPull)),
  listPullCommits,
  getPullChanges,
  getPullChangesSince,
  getPullImpact,
  getPullDiff: async (ctx, { path, query, type }) =>
    type === 'application/json' ? readPullDiff(ctx, { path, query }) : patch(await readPullPatch(ctx, { path, query })),
} satisfies Partial<Handlers>

/** Answers with a pull request under its name in the spec. */
function asPull<C, I, P>(use: (ctx: C, input: I) => Promise<P>) {
  return async (ctx: C, input: I) => ({ pr: await use(ctx, input) })
}
