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
  listEntities: (ctx, { path, query }) => contents.listEntities(ctx, path, query),
  getFile: (ctx, { path }) => contents.readFile(ctx, path),
  getObject: async (ctx, { path }) => {
    const content = await contents.readBytes(ctx, path)
    return bytes(content, 'application/octet-stream', immutable)
  },
  getRaw: async (ctx, { path }) => new Download(await readRaw(ctx, path)),
  getBlame: (ctx, { path }) => blameFile(ctx, path),
  listCommits: (ctx, { path, query }) => contents.listCommits(ctx, path, query),
  createCommit: async (ctx, { path, body }) => {
    const commit = await contents.createCommit(ctx, path, body)
    const tree = `/orgs/${path.org_id}/nodes/${path.node_id}/tree/${encodeURIComponent(path.branch)}`
    return created(`${tree}/commits/${commit.id}`, commit)
  },
  getCommit: (ctx, { path }) => contents.readBranchCommit(ctx, path),
  getCommitDiff: async (ctx, { path, query, type }) =>
    type === 'application/json'
      ? diffs.readCommitDiff(ctx, path, query)
      : patch(await diffs.readCommitPatch(ctx, path, query)),
  compareCommits: async (ctx, { path, query, type }) =>
    type === 'application/json'
      ? comparing.compare(ctx, path, query)
      : patch(await comparing.comparePatch(ctx, path, query)),
  getPatch: async (ctx, { path, query }) => patch(await comparing.comparePatch(ctx, path, query)),
}
