/** Pull requests. */
import { updatePullBranch } from '../domain/pulls/branch-updates.ts'
import * as merges from '../domain/pulls/merges.ts'
import * as pulls from '../domain/pulls/pulls.ts'
import type { Handlers } from '../http/operations.ts'
import { created } from '../http/responses.ts'

export const pullRoutes: Pick<
  Handlers,
  | 'openPull'
  | 'listPulls'
  | 'getPull'
  | 'updatePull'
  | 'mergePull'
  | 'updatePullBranch'
  | 'listPullCommits'
  | 'getPullChanges'
> = {
  openPull: async (deps, actor, { path, body }) => {
    const pr = await pulls.openPull(deps, actor, path.org_id, path.node_id, body)
    return created(`/orgs/${path.org_id}/nodes/${path.node_id}/pull-requests/${pr.number}`, { pr })
  },
  listPulls: (deps, actor, { path, query }) => pulls.listPulls(deps, actor, path.org_id, path.node_id, query),
  getPull: async (deps, actor, { path }) => ({
    pr: await pulls.readPullRequest(deps, actor, path.org_id, path.node_id, path.number),
  }),
  updatePull: async (deps, actor, { path, body }) => ({
    pr: await pulls.updatePull(deps, actor, path.org_id, path.node_id, path.number, body),
  }),
  mergePull: async (deps, actor, { path, body }) => ({
    pr: await merges.mergePull(deps, actor, path.org_id, path.node_id, path.number, body ?? {}),
  }),
  updatePullBranch: async (deps, actor, { path, signal }) => ({
    pr: await updatePullBranch(deps, actor, path.org_id, path.node_id, path.number, signal),
  }),
  listPullCommits: (deps, actor, { path, query }) =>
    pulls.listPullCommits(deps, actor, path.org_id, path.node_id, path.number, query),
  getPullChanges: (deps, actor, { path }) => pulls.readPullChanges(deps, actor, path.org_id, path.node_id, path.number),
}
