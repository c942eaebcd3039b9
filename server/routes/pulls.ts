/** Pull requests. */
import { updatePullBranch } from '../domain/pulls/branch-updates.ts'
import { getPullChangesSince } from '../domain/pulls/changes-since.ts'
import * as diffs from '../domain/pulls/impact.ts'
import { readPullImpact } from '../domain/pulls/impact.ts'
import { mergePull } from '../domain/pulls/merges.ts'
import { listOrgPulls } from '../domain/pulls/org-pulls.ts'
import * as pulls from '../domain/pulls/pulls.ts'
import { undoPull } from '../domain/pulls/undo.ts'
import type { HandlersOf } from '../http/contract/operations.ts'
import { created, patch } from '../http/responses/responses.ts'

export const pullRoutes: HandlersOf<
  | 'openPull'
  | 'listPulls'
  | 'listOrgPulls'
  | 'getPull'
  | 'updatePull'
  | 'mergePull'
  | 'updatePullBranch'
  | 'undoPull'
  | 'listPullCommits'
  | 'getPullChanges'
  | 'getPullDiff'
  | 'getPullChangesSince'
  | 'getPullImpact'
> = {
  openPull: async (ctx, { path, body }) => {
    const pr = await pulls.openPull(ctx, path, body)
    return created(`/orgs/${path.org_id}/nodes/${path.node_id}/pull-requests/${pr.number}`, { pr })
  },
  listPulls: (ctx, { path, query }) => pulls.listPulls(ctx, path, query),
  listOrgPulls: (ctx, { path, query }) => listOrgPulls(ctx, path, query),
  getPull: async (ctx, { path }) => ({ pr: await pulls.readPullRequest(ctx, path) }),
  updatePull: async (ctx, { path, body }) => ({
    pr: await pulls.updatePull(ctx, path, body),
  }),
  mergePull: async (ctx, { path, body }) => ({
    pr: await mergePull(ctx, path, body ?? {}),
  }),
  updatePullBranch: async (ctx, { path }) => ({
    pr: await updatePullBranch(ctx, path),
  }),
  undoPull: async (ctx, { path, body }) => {
    const pr = await undoPull(ctx, path, body ?? {})
    return created(`/orgs/${path.org_id}/nodes/${path.node_id}/pull-requests/${pr.number}`, { pr })
  },
  listPullCommits: (ctx, { path, query }) => pulls.listPullCommits(ctx, path, query),
  getPullChanges: (ctx, { path }) => diffs.readPullChanges(ctx, path),
  getPullChangesSince: (ctx, { path, query }) => getPullChangesSince(ctx, path, query),
  getPullImpact: (ctx, { path }) => readPullImpact(ctx, path),
  getPullDiff: async (ctx, { path, query, type }) =>
    type === 'application/json'
      ? diffs.readPullDiff(ctx, path, query)
      : patch(await diffs.readPullPatch(ctx, path, query)),
}
