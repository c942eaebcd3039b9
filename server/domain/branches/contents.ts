/** The contents of branches: trees, files, objects, history, commits. */
import { isGitError } from '../../../gitstore/errors.ts'
import { readBlob, readInfo } from '../../../gitstore/objects/objects.ts'
import { type FileEntry, findEntry, listFiles } from '../../../gitstore/objects/trees.ts'
import { isOid, type Oid, type Repo } from '../../../gitstore/repo.ts'
import { AppError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { authorizeNode, type NodeAccess } from '../access.ts'
import type { Person, RequestContext } from '../actor.ts'
import { entityAt } from '../format/node-format.ts'
import { liesIn } from '../format/paths.ts'
import { readResult } from '../indexing/index-node.ts'
import { branchRef } from '../layout.ts'
import { type Page, pageOf, slice } from '../pagination.ts'
import type { Ctx, RequestCtx } from '../services.ts'
import type { Body, BranchAt, CommitAt, FileAt, ObjectAt, Path, Query } from '../targets.ts'
import { commitToBranch } from './branch-commits.ts'
import { applyFileChanges, type Change, fileChanges } from './commit-changes.ts'
import { type CommitDetails, readCommits, readDetails } from './commit-views.ts'
import { type ImmutableAnswer, immutableAnswer, lengthOf } from './immutable-answers.ts'
import { createLargeRead, type LargeRead, readOfChange } from './large-reads.ts'
import { type HistoryQuery, isFiltered, listFilteredCommits } from './path-history.ts'
import { isPublicBlob } from './public-blobs.ts'
import { readTree, requireBranchName, requireCommitOf, resolveRevision } from './revisions.ts'
import { visibleHeads } from './tags.ts'

const tooManyFiles =
  'This tree has over 100,000 files and folders, 64 levels or 16 MiB of paths. Clone the node and use git ls-tree'

/**
 * Lists the files of a revision in git's order. A branch without a commit has no files and no `commit_id`.
 *
 * @throws AppError as authorizeNode, branch_not_found, too_large, busy; the signal's reason
 */
export async function listEntities(
  ctx: RequestCtx,
  { path: at, query: { sizes = false, ...page } }: Path<BranchAt> & Query<Page & { readonly sizes?: boolean }>,
) {
  const { node_id: nodeId, branch } = at
  const access = await authorizeNode(ctx, at, 'public')
  const head = await resolveRevision(access, branch)
  const files = head === null ? [] : await listTree(access.repo, head, createLargeRead(ctx))
  const entities = []
  for (const { path, oid, mode } of slice(files, page)) {
    const size = sizes && mode !== '160000' ? { size: (await readInfo(access.repo, oid)).size } : {}
    entities.push({ ...entityAt(path, nodeId), entity_key: path, object_id: oid, mode, ...size })
  }
  return {
    node_id: nodeId,
    branch,
    ...(head === null ? {} : { commit_id: head }),
    entities,
    ...pageOf(page, files.length),
  }
}

async function listTree(repo: Repo, head: Oid, read: LargeRead): Promise<FileEntry[]> {
  const tree = await readTree(repo, head)
  return read(tooManyFiles, (pace) => listFiles(repo, tree, { pace }))
}

/** Reads a file. The content is as in the body of a commit: text if it is UTF-8, else base64. */
export async function getFile(ctx: Ctx, { path: at }: Path<FileAt>) {
  const { node_id: nodeId, branch, path } = at
  const access = await authorizeNode(ctx, at, 'public')
  const head = await resolveRevision(access, branch)
  const entry = head === null ? undefined : await findEntry(access.repo, await readTree(access.repo, head), path)
  if (!head || !entry || entry.mode === '040000' || entry.mode === '160000')
    throw new AppError('file_not_found', 'File not found')
  const content = await readBlob(access.repo, entry.oid, limits.jsonFileBytes)
  const text = asText(content)
  return {
    node_id: nodeId,
    branch,
    commit_id: head,
    path,
    ...entityAt(path, nodeId),
    object_id: entry.oid,
    mode: entry.mode,
    size: content.length,
    ...(text === undefined
      ? { encoding: 'base64' as const, content: content.toString('base64') }
      : { encoding: 'utf-8' as const, content: text }),
  }
}

/** Reads the bytes of a blob. Anonymous callers see only blobs that main or a tag contains. */
export async function getObject(ctx: RequestCtx, { path }: Path<ObjectAt>): Promise<Buffer> {
  const { object_id: objectId } = path
  const access = await authorizeNode(ctx, path, 'public')
  const missing = new AppError('object_not_found', 'Object not found')
  if (!isOid(objectId)) throw missing
  if (access.role === null && !(await isPublicBlob(access.repo, await visibleHeads(access), objectId, ctx)))
    throw missing
  return readBlob(access.repo, objectId).catch((error: unknown) => {
    throw isGitError(error, 'object_missing') ? missing : error
  })
}

/** Lists the history of a revision in the order of `git log`. @throws the errors of listFilteredCommits */
export async function listCommits(ctx: RequestCtx, { path, query }: Path<BranchAt> & Query<HistoryQuery>) {
  const { node_id: nodeId, branch } = path
  const access = await authorizeNode(ctx, path, 'public')
  const head = await resolveRevision(access, branch)
  const page = { limit: query.limit, offset: query.offset }
  if (head === null) return { node_id: nodeId, history: [], ...pageOf(page, 0) }
  const narrowed = isFiltered(query) ? JSON.stringify(query) : `${page.offset} ${page.limit}`
  return immutableAnswer(
    `history ${nodeId} ${head} ${narrowed}`,
    ({ history }) => lengthOf(history),
    async () => {
      const { total, oids } = isFiltered(query)
        ? await listFilteredCommits(ctx, access, head, query)
        : await access.history.page(head, page.offset, page.limit)
      return { node_id: nodeId, history: await readCommits(access.repo, nodeId, oids), ...pageOf(page, total) }
    },
  )
}

/**
 * Reads a commit of a branch by its id, or by 7 characters or more.
 *
 * @throws AppError commit_not_found (unknown, or not on this branch), too_large, busy
 * @throws ValidationError the abbreviation is ambiguous
 */
export async function getCommit(ctx: RequestCtx, { path }: Path<CommitAt>): Promise<ImmutableAnswer<CommitDetails>> {
  const { commit_id: commitId } = path
  const access = await authorizeNode(ctx, path, 'public')
  const head = await resolveRevision(access, path.branch)
  return details(ctx, access, await requireCommitOf(access, head, commitId, ['path', 'commit_id']))
}

function details(
  context: RequestContext,
  { node, repo }: NodeAccess,
  oid: Oid,
): Promise<ImmutableAnswer<CommitDetails>> {
  const sizeOf = ({ changes, ...commit }: CommitDetails) =>
    lengthOf([commit]) + 400 * (changes.added.length + changes.removed.length + changes.modified.length)
  return immutableAnswer(`commit ${node.id} ${oid}`, sizeOf, () =>
    readDetails(repo, node.id, oid, createLargeRead(context)),
  )
}

export interface CommitInput {
  readonly message: string
  readonly changes: readonly Change[]
  readonly expected_head?: string | null
}

/**
 * Makes one commit on a branch. On a node without a commit it is the first.
 *
 * @throws the errors of commitToBranch
 * @throws ValidationError located at the change
 */
export async function createCommit(
  ctx: Ctx<Person>,
  { path: at, body }: Path<BranchAt> & Body<CommitInput>,
): Promise<CommitDetails> {
  const access = await authorizeNode(ctx, at, { ref: branchRef(at.branch) })
  const files = fileChanges(body.changes)
  const oid = await commitToBranch(ctx, access, {
    branch: requireBranchName(at.branch),
    message: body.message,
    expectedHead: body.expected_head,
    addsParents: files.some((file) => file.bytes !== null && liesIn('parents', file.path)),
    build: (draft, tree) => applyFileChanges(draft, tree, files),
    locate: (path) => {
      const position = files.findIndex((file) => file.path === path)
      return position < 0 ? ['body', 'changes'] : ['body', 'changes', position]
    },
  })
  return readResult(ctx, () => readDetails(access.repo, at.node_id, oid, readOfChange))
}

function asText(bytes: Buffer): string | undefined {
  const text = bytes.toString('utf8')
  return Buffer.from(text, 'utf8').equals(bytes) ? text : undefined
}
