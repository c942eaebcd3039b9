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
  openPull: async (deps, actor, { path, body }) => {
    const pr = await pulls.openPull(deps, actor, path, body)
    return created(`/orgs/${path.org_id}/nodes/${path.node_id}/pull-requests/${pr.number}`, { pr })
  },
  listPulls: (deps, actor, { path, query }) => pulls.listPulls(deps, actor, path, query),
  listOrgPulls: (deps, actor, { path, query, from, signal }) =>
    listOrgPulls(deps, { actor, from, signal }, path, query),
  getPull: async (deps, actor, { path }) => ({ pr: await pulls.readPullRequest(deps, actor, path) }),
  updatePull: async (deps, actor, { path, body }) => ({
    pr: await pulls.updatePull(deps, actor, path, body),
  }),
  mergePull: async (deps, actor, { path, body }) => ({
    pr: await mergePull(deps, actor, path, body ?? {}),
  }),
  updatePullBranch: async (deps, actor, { path, from, signal }) => ({
    pr: await updatePullBranch(deps, { actor, from, signal }, path),
  }),
  undoPull: async (deps, actor, { path, body, from, signal }) => {
    const pr = await undoPull(deps, { actor, from, signal }, path, body ?? {})
    return created(`/orgs/${path.org_id}/nodes/${path.node_id}/pull-requests/${pr.number}`, { pr })
  },
  listPullCommits: (deps, actor, { path, query }) => pulls.listPullCommits(deps, actor, path, query),
  getPullChanges: (deps, actor, { path, from, signal }) => diffs.readPullChanges(deps, { actor, from, signal }, path),
  getPullChangesSince: (deps, actor, { path, query, from, signal }) =>
    getPullChangesSince(deps, { actor, from, signal }, path, query),
  getPullImpact: (deps, actor, { path }) => readPullImpact(deps, actor, path),
  getPullDiff: async (deps, actor, { path, query, type, from, signal }) =>
    type === 'application/json'
      ? diffs.readPullDiff(deps, { actor, from, signal }, path, query)
      : patch(await diffs.readPullPatch(deps, { actor, from, signal }, path, query)),
}
