/** The text diff of two commits: hunks of each entity, or a patch. */
import { withPendingStored } from '../../../gitstore/history/scratch-objects.ts'
import * as gitLimits from '../../../gitstore/limits.ts'
import { readCommit } from '../../../gitstore/objects/commits.ts'
import { readInfo } from '../../../gitstore/objects/objects.ts'
import {
  type DiffLimits,
  type DiffSide,
  type FileDiff,
  readHunks,
  readPatch,
} from '../../../gitstore/objects/patches.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import * as limits from '../../base/limits.ts'
import { authorizeNode, type NodeAccess } from '../access.ts'
import { entityAt } from '../format/node-format.ts'
import type { RequestCtx } from '../services.ts'
import type { Path, Query, RevisionAt } from '../targets.ts'
import { type ImmutableAnswer, immutableAnswer } from './immutable-answers.ts'
import { pathIn, readBounded } from './large-reads.ts'
import { readTree, requireCommit } from './revisions.ts'

/** If a diff is narrowed to a path, one file may take all of it. */
const hunkLimits: DiffLimits = {
  files: limits.hunkEntities,
  linesOfFile: limits.entityLines,
  lines: limits.hunkLines,
  bytesOfFile: limits.entityBytes,
  bytes: limits.hunkBytes,
}
const narrowedLimits: DiffLimits = { ...hunkLimits, linesOfFile: limits.hunkLines, bytesOfFile: limits.hunkBytes }
/** Blobs whose sizes are read at once. */
const sizesAtOnce = 200

const tooMuch =
  'The comparison takes longer than 10 seconds, or more than 256 MiB of lines differ. Narrow it with ?path=, or clone the node and use git diff'
const patchTooLarge =
  'The patch has over 32 MiB, or takes longer than 10 seconds. Narrow it with ?path=, or clone the node and use git diff'

/** Two commits of a node; if `base` is null, every file is added. */
export interface CommitPair {
  readonly base: Oid | null
  readonly target: Oid
}

export interface DiffQuery {
  readonly path?: string
}

export type TextDiff = Awaited<ReturnType<typeof makeDiff>>

/** A commit and its first parent. @throws AppError `missing`; GitError as readCommit */
export async function commitPair(
  access: NodeAccess,
  commit: string,
  missing: 'branch_not_found' | 'commit_not_found' = 'commit_not_found',
): Promise<CommitPair> {
  const target = await requireCommit(access, commit, missing)
  const { parents } = await readCommit(access.repo, target)
  return { base: parents[0] ?? null, target }
}

export async function readCommitDiff(ctx: RequestCtx, { path, query }: Path<RevisionAt> & Query<DiffQuery>) {
  const access = await authorizeNode(ctx, path, 'public')
  return textDiff(ctx, access, await commitPair(access, path.commit), query)
}

export async function readCommitPatch(ctx: RequestCtx, { path, query }: Path<RevisionAt> & Query<DiffQuery>) {
  const access = await authorizeNode(ctx, path, 'public')
  return patchOf(ctx, access, await commitPair(access, path.commit), query)
}

/**
 * Returns the hunks of each entity that differs.
 *
 * @throws AppError too_large, busy
 * @throws ValidationError the path is invalid
 * @throws GitError as readHunks
 */
export function textDiff(
  ctx: RequestCtx,
  { node, repo }: NodeAccess,
  pair: CommitPair,
  query: DiffQuery,
): Promise<ImmutableAnswer<TextDiff>> {
  const key = `diff ${node.id} ${pair.base} ${pair.target}`
  return textDiffOf(ctx, { key, nodeId: node.id, repo, pair, trees: () => treesOf(repo, pair) }, query)
}

interface Trees {
  readonly from: Oid | null
  readonly to: Oid
}

/** Two trees to compare, of which some objects may be pending in the repository. */
interface ComparedTrees {
  /** Names everything that the response depends on, except the path. */
  readonly key: string
  readonly nodeId: string
  readonly repo: Repo
  /** The commits that the response names. */
  readonly pair: CommitPair
  trees(): Promise<Trees>
}

/** Returns the hunks of each entity that differs between two trees. @throws the errors of textDiff */
export function textDiffOf(
  ctx: RequestCtx,
  { key, nodeId, repo, pair, trees }: ComparedTrees,
  query: DiffQuery,
): Promise<ImmutableAnswer<TextDiff>> {
  const path = pathIn(query)
  return immutableAnswer(`${key} ${path ?? ''}`, sizeOf, () =>
    readBounded(ctx, tooMuch, (bounds) =>
      withPendingStored(repo, async (objects) => {
        const compared = { ...(await trees()), path }
        const most = path === undefined ? hunkLimits : narrowedLimits
        return makeDiff(repo, nodeId, pair, await readHunks(repo, compared, most, { ...bounds, objects }))
      }),
    ),
  )
}

/** Returns the whole patch from the base to the target. Otherwise the same as textDiff. */
export function patchOf(ctx: RequestCtx, { repo }: NodeAccess, pair: CommitPair, query: DiffQuery): Promise<Buffer> {
  const path = pathIn(query)
  return readBounded(ctx, patchTooLarge, async (bounds) =>
    readPatch(repo, { ...(await treesOf(repo, pair)), path }, limits.patchBytes, bounds),
  )
}

async function treesOf(repo: Repo, { base, target }: CommitPair): Promise<Trees> {
  return { from: base === null ? null : await readTree(repo, base), to: await readTree(repo, target) }
}

async function makeDiff(
  repo: Repo,
  nodeId: string,
  { base, target }: CommitPair,
  { files, total }: { readonly files: readonly FileDiff[]; readonly total: number },
) {
  const sizes = await sizesOf(repo, files)
  const entities = files.map((file) => toEntity(nodeId, file, sizes))
  return {
    node_id: nodeId,
    base_commit_id: base,
    target_commit_id: target,
    entities,
    total,
    truncated: total > files.length || entities.some(({ truncated }) => truncated === true),
  }
}

const changes = { A: 'added', D: 'removed', M: 'modified', T: 'modified', R: 'renamed' } as const

function toEntity(nodeId: string, file: FileDiff, sizes: ReadonlyMap<Oid, number>) {
  const { status, path, oldPath, old, new: now, similarity } = file
  return {
    ...entityAt(path, nodeId),
    entity_key: path,
    change: changes[status],
    ...(status === 'R' ? { old_entity_key: oldPath, similarity: similarity ?? 0 } : {}),
    old_object_id: old?.oid ?? null,
    new_object_id: now?.oid ?? null,
    old_mode: old?.mode ?? null,
    new_mode: now?.mode ?? null,
    ...textOf(file, sizes),
  }
}

function textOf(file: FileDiff, sizes: ReadonlyMap<Oid, number>) {
  if (file.kind === 'unread') return { truncated: true as const }
  if (file.kind === 'binary') {
    const sizeOf = (side: DiffSide | null) => (side && sizes.get(side.oid)) ?? null
    const [old_size, new_size] = [sizeOf(file.old), sizeOf(file.new)]
    const isLarge = Math.max(old_size ?? 0, new_size ?? 0) > gitLimits.comparedFileBytes
    return { ...(isLarge ? { too_large: true as const } : { binary: true as const }), old_size, new_size }
  }
  return {
    ...(file.isStopped ? {} : { additions: file.added, deletions: file.removed }),
    hunks: file.hunks,
    ...(file.isUtf8 ? {} : { not_utf8: true as const }),
    ...(file.isCut ? { truncated: true as const } : {}),
  }
}

/** The sizes of the files that were not read as text, by object id. */
async function sizesOf(repo: Repo, files: readonly FileDiff[]): Promise<ReadonlyMap<Oid, number>> {
  const sides = files.flatMap(({ kind, old, new: now }) => (kind === 'binary' ? [old, now] : []))
  const oids = [...new Set(sides.filter(isFile).map(({ oid }) => oid))]
  const sizes = new Map<Oid, number>()
  for (let at = 0; at < oids.length; at += sizesAtOnce) {
    const some = oids.slice(at, at + sizesAtOnce)
    const found = await Promise.all(some.map((oid) => readInfo(repo, oid)))
    for (const [n, oid] of some.entries()) sizes.set(oid, found[n]?.size ?? 0)
  }
  return sizes
}

/** True unless it is a submodule, whose commit is in another repository. */
function isFile(side: DiffSide | null): side is DiffSide {
  return side !== null && side.mode !== '160000'
}

/** The approximate length of its JSON, in characters. */
function sizeOf({ entities }: TextDiff): number {
  let characters = 300
  for (const entity of entities) {
    characters += 400 + 2 * entity.entity_key.length
    if (!('hunks' in entity)) continue
    for (const { lines } of entity.hunks) for (const { text } of lines) characters += 70 + text.length
  }
  return characters
}
