/** Trees, files, objects, history, commits and comparison. */
import { getBlame } from '../domain/branches/blame.ts'
import { compare, comparePatch } from '../domain/branches/comparing.ts'
import { createCommit, getCommit, getFile, getObject, listCommits, listEntities } from '../domain/branches/contents.ts'
import { getRaw } from '../domain/branches/raw-files.ts'
import { readCommitDiff, readCommitPatch } from '../domain/branches/text-diffs.ts'
import type { Handlers } from '../http/contract/operations.ts'
import { bytes, createdAt, Download, patch } from '../http/responses/responses.ts'

/** Headers of objects, whose ids name their bytes for ever. */
const immutable = { 'Cache-Control': 'private, max-age=31536000, immutable' }

export const contentRoutes = {
  listEntities,
  getFile,
  getObject: async (ctx, { path }) => {
    const content = await getObject(ctx, { path })
    return bytes(content, 'application/octet-stream', immutable)
  },
  getRaw: async (ctx, { path }) => new Download(await getRaw(ctx, { path })),
  getBlame,
  listCommits,
  createCommit: createdAt('/orgs/{org_id}/nodes/{node_id}/tree/{branch}/commits/{id}', createCommit),
  getCommit,
  getCommitDiff: async (ctx, { path, query, type }) =>
    type === 'application/json'
      ? readCommitDiff(ctx, { path, query })
      : patch(await readCommitPatch(ctx, { path, query })),
  compareCommits: async (ctx, { path, query, type }) =>
    type === 'application/json' ? compare(ctx, { path, query }) : patch(await comparePatch(ctx, { path, query })),
  getPatch: async (ctx, { path, query }) => patch(await comparePatch(ctx, { path, query })),
} satisfies Partial<Handlers>
