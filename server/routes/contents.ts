/** Trees, files, objects, history, commits and comparison. */
import * as contents from '../domain/branches/contents.ts'
import type { Handlers } from '../http/operations.ts'
import { bytes, created } from '../http/responses.ts'

/** An object id names its bytes for ever. */
const immutable = { 'Cache-Control': 'private, max-age=31536000, immutable' }

export const contentRoutes: Pick<
  Handlers,
  'listEntities' | 'getFile' | 'getObject' | 'listCommits' | 'createCommit' | 'getCommit' | 'compareCommits'
> = {
  listEntities: (deps, actor, { path, query }) => contents.listEntities(deps, actor, placeOf(path), query),
  getFile: (deps, actor, { path }) => contents.readFile(deps, actor, placeOf(path), path.path),
  getObject: async (deps, actor, { path }) => {
    const place = { orgId: path.org_id, nodeId: path.node_id }
    return bytes(await contents.readBytes(deps, actor, place, path.object_id), 'application/octet-stream', immutable)
  },
  listCommits: (deps, actor, { path, query }) => contents.listCommits(deps, actor, placeOf(path), query),
  createCommit: async (deps, actor, { path, body }) => {
    const commit = await contents.createCommit(deps, actor, placeOf(path), body)
    return created(
      `/orgs/${path.org_id}/nodes/${path.node_id}/tree/${encodeURIComponent(path.branch)}/commits/${commit.id}`,
      commit,
    )
  },
  getCommit: (deps, actor, { path }) => contents.readBranchCommit(deps, actor, placeOf(path), path.commit_id),
  compareCommits: (deps, actor, { path, query }) => contents.compare(deps, actor, path.org_id, path.node_id, query),
}

function placeOf(path: { org_id: string; node_id: string; branch: string }) {
  return { orgId: path.org_id, nodeId: path.node_id, branch: path.branch }
}
