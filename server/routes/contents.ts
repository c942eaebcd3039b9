/** Trees, files, objects, history, commits and comparison. */
import { blameFile } from '../domain/branches/blame.ts'
import * as comparing from '../domain/branches/comparing.ts'
import * as contents from '../domain/branches/contents.ts'
import { readRaw } from '../domain/branches/raw-files.ts'
import * as diffs from '../domain/branches/text-diffs.ts'
import type { HandlersOf } from '../http/contract/operations.ts'
import { bytes, created, Download, patch } from '../http/responses/responses.ts'

/** Headers of objects, whose ids name their bytes for ever. */
const immutable = { 'Cache-Control': 'private, max-age=31536000, immutable' }

export const contentRoutes: HandlersOf<
  | 'listEntities'
  | 'getFile'
  | 'getObject'
  | 'getRaw'
  | 'getBlame'
  | 'listCommits'
  | 'createCommit'
  | 'getCommit'
  | 'getCommitDiff'
  | 'compareCommits'
  | 'getPatch'
> = {
  listEntities: (deps, actor, { path, query, from, signal }) =>
    contents.listEntities(deps, { actor, from, signal }, path, query),
  getFile: (deps, actor, { path }) => contents.readFile(deps, actor, path),
  getObject: async (deps, actor, { path, from, signal }) => {
    const content = await contents.readBytes(deps, { actor, from, signal }, path)
    return bytes(content, 'application/octet-stream', immutable)
  },
  getRaw: async (deps, actor, { path }) => new Download(await readRaw(deps, actor, path)),
  getBlame: (deps, actor, { path, from, signal }) => blameFile(deps, { actor, from, signal }, path),
  listCommits: (deps, actor, { path, query, from, signal }) =>
    contents.listCommits(deps, { actor, from, signal }, path, query),
  createCommit: async (deps, actor, { path, body }) => {
    const commit = await contents.createCommit(deps, actor, path, body)
    const tree = `/orgs/${path.org_id}/nodes/${path.node_id}/tree/${encodeURIComponent(path.branch)}`
    return created(`${tree}/commits/${commit.id}`, commit)
  },
  getCommit: (deps, actor, { path, from, signal }) => contents.readBranchCommit(deps, { actor, from, signal }, path),
  getCommitDiff: async (deps, actor, { path, query, type, from, signal }) =>
    type === 'application/json'
      ? diffs.readCommitDiff(deps, { actor, from, signal }, path, query)
      : patch(await diffs.readCommitPatch(deps, { actor, from, signal }, path, query)),
  compareCommits: async (deps, actor, { path, query, type, from, signal }) =>
    type === 'application/json'
      ? comparing.compare(deps, { actor, from, signal }, path, query)
      : patch(await comparing.comparePatch(deps, { actor, from, signal }, path, query)),
  getPatch: async (deps, actor, { path, query, from, signal }) =>
    patch(await comparing.comparePatch(deps, { actor, from, signal }, path, query)),
}
