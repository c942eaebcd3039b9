/** Deleted nodes: who deleted them, their list, and their way back. `grove purge` removes them for good. */
import { isDamage, isGitError } from '../../../gitstore/errors.ts'
import { readCommit } from '../../../gitstore/objects/commits.ts'
import { newObjectBatch } from '../../../gitstore/objects/object-batch.ts'
import { emptyTree } from '../../../gitstore/objects/trees.ts'
import { updateRefs } from '../../../gitstore/refs/ref-transaction.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { moveRepo, repoExists } from '../../../gitstore/repo-folders.ts'
import type { Store } from '../../../gitstore/store.ts'
import { createYielder } from '../../../gitstore/yielder.ts'
import { findSetById } from '../../../index/derived/change-sets.ts'
import { isAncestor } from '../../../index/derived/edges.ts'
import { findNode, readOrgsOf } from '../../../index/derived/node-queries.ts'
import { wholeOrg } from '../../../index/derived/sees.ts'
import { AppError } from '../../base/errors.ts'
import { authorizeOrg, orgNotFoundError, recheckAccess } from '../access.ts'
import type { Person } from '../actor.ts'
import { audit } from '../audit/audit.ts'
import { refuseProblems, withGraphLockOn } from '../branches/branch-commits.ts'
import { requireFreePlaces } from '../consent/place-checks.ts'
import type { Mover } from '../event-log/note-intents.ts'
import { readContent } from '../format/node-format.ts'
import type { ContentProblem } from '../format/path-problem.ts'
import { edgeFile } from '../format/paths.ts'
import { type Author, authorOf, signature } from '../format/signatures.ts'
import { countTrash } from '../indexing/byte-counts.ts'
import { authorizeNodeInOrg } from '../indexing/freshness.ts'
import { indexNode, readResult } from '../indexing/index-node.ts'
import { listTrashed, type TrashedNode } from '../indexing/stored-repositories.ts'
import { isId, ledgerRef, main, nodeRepo, orgRepo } from '../layout.ts'
import { readDeletion } from '../ledger/deletions.ts'
import { addNodeRecord, type NodeRecord, readNodeRecord } from '../ledger/ledger.ts'
import { type Page, pageOf } from '../pagination.ts'
import { withRoomForNodes } from '../quotas.ts'
import type { Ctx, Services } from '../services.ts'
import type { Body, NodeAt, OrgAt, Path, Query } from '../targets.ts'
import { refuseWithoutParents } from './kept-rules.ts'
import { moveBack, unlockCopy } from './moved-back.ts'
import { toNode } from './nodes.ts'
import { nodeExistsError, nodeTakenError } from './taken-ids.ts'

/** Lists the deleted nodes, the last deleted first. @throws errors of authorizeOrg */
export async function listTrash(ctx: Ctx, { path, query }: Path<OrgAt> & Query<Page>) {
  await authorizeOrg(ctx, path, 'maintainer')
  const all = await listTrashed(ctx.store, path.org_id)
  const nodes = []
  for (const one of newestOf(all, query)) {
    const read = await readTrashed(ctx, path.org_id, one)
    // It was restored or purged since the folder was read.
    if (read !== undefined) nodes.push({ ...read, kept_until: keptUntil(ctx, one) })
  }
  return { nodes, ...pageOf(query, all.length) }
}

/**
 * Restores a deleted node with everything that its repository holds. The rename is the commit point; rows follow. Edges
 * of other nodes to it were only hidden, and come back with it.
 *
 * @param input.deleted_at the copy of that time; default: the newest
 * @throws AppError node_not_found (it is not in the trash), node_exists, org_not_found, outcome_unknown,
 *   in_change_set, pull_request_required, quota_exceeded, rule_would_end
 * @throws ValidationError one of its parents is now below it
 */
export async function restoreNode(
  ctx: Ctx<Person>,
  { path, body }: Path<NodeAt> & Body<{ readonly deleted_at?: string }>,
) {
  const access = await authorizeOrg(ctx, path, 'maintainer')
  const copy = await findCopy(ctx.store, path, body.deleted_at)
  // An id that is not valid is not the name of a folder.
  if (isId(path.node_id) && repoExists(nodeRepo(ctx.store, path.org_id, path.node_id)))
    throw nodeExistsError(path.org_id, path.node_id)
  if (copy === undefined) throw notInTrash()
  await withRoomForNodes(ctx, path.org_id, 1, () =>
    putBack(ctx, path, copy, ctx.actor, async ({ title, parents }) => {
      const { org } = await recheckAccess(ctx, path.org_id, 'maintainer')
      const place = { id: path.node_id, act: 'restore' as const, parents: parents.map(({ id }) => id) }
      await requireFreePlaces(ctx, org, async () => [{ ...place, title: title ?? path.node_id }])
    }),
  )
  await audit(ctx, { action: 'node.restored', actor: ctx.actor, orgId: access.org.id, nodeId: path.node_id })
  return readResult(ctx, async () => toNode(ctx, await authorizeNodeInOrg(ctx, access, path.node_id, 'public')))
}

/** Finds a copy of the node in the trash. @param deletedAt ISO 8601; undefined: the newest copy */
export async function findCopy(
  store: Store,
  { org_id: orgId, node_id: nodeId }: NodeAt,
  deletedAt?: string,
): Promise<TrashedNode | undefined> {
  const copies = (await listTrashed(store, orgId)).filter((one) => one.nodeId === nodeId)
  if (deletedAt !== undefined) return copies.find(({ deletedMs }) => deletedMs === Date.parse(deletedAt))
  return copies.sort((a, b) => b.deletedMs - a.deletedMs)[0]
}

/**
 * Renames the copy into place and indexes it. Holds the graph's lock, because no other change may close a cycle with the
 * edges that come back.
 *
 * @param check runs under the lock, before the rename. Gets the title and parents that the node's `main` has
 * @throws errors of restoreNode and of `check`
 */
export async function putBack(
  deps: Services,
  at: NodeAt,
  copy: TrashedNode,
  by: Mover,
  check: (content: Awaited<ReturnType<typeof readMain>>) => Promise<void> = async () => {},
): Promise<void> {
  const { org_id: orgId, node_id: nodeId } = at
  const repo = nodeRepo(deps.store, orgId, nodeId)
  await withGraphLockOn(deps, orgId, [nodeId], async () => {
    await refuseProposed(deps, orgId, copy.repo)
    const content = await readMain(copy.repo)
    await check(content)
    const owner = (await readOrgsOf((deps.wholeIndex ?? deps.index).read, [nodeId])).get(nodeId)
    if (owner !== undefined && owner !== orgId) throw nodeTakenError(nodeId)
    await unlockCopy(copy)
    await undoDeletion(deps, copy.repo, by)
    refuseProblems(await findCycles(deps, at, content.parents), () => ['path', 'node_id'])
    await refuseWithoutParents(deps, at, content.parents)
    await moveBack(deps, orgId, copy, by)
    await indexRestored(deps, at)
    await countTrash(deps, orgId, (id) => id === nodeId)
  }).catch((error: unknown) => {
    throw refusalOf(deps, at, error)
  })
  if ((await readOrgsOf(deps.index.read, [nodeId])).get(nodeId) === orgId) return
  // Another organisation has just created a node with that id.
  await moveRepo(repo.dir, copy.repo.dir)
  throw nodeTakenError(nodeId)
}

/** Refuses a page that was only proposed. It comes back with its change set. @throws AppError in_change_set */
async function refuseProposed(deps: Services, orgId: string, repo: Repo): Promise<void> {
  const number = await proposingSet(deps, orgId, repo)
  if (number === undefined) return
  const detail = `This page was proposed by change set ${number}, which was closed. Reopen the change set to get it back`
  throw new AppError('in_change_set', detail, { change_set: number })
}

/** Returns the number of the change set that proposed the node. Undefined for a node that readers had. */
async function proposingSet(
  { index }: Pick<Services, 'index'>,
  orgId: string,
  repo: Repo,
): Promise<number | undefined> {
  const ledger = readRef(repo, ledgerRef)
  if (ledger === null) return undefined
  const { state, proposed_in: set = '' } = await readNodeRecord(repo, ledger)
  return state === 'proposed' ? (await findSetById(index.read, orgId, set))?.number : undefined
}

/** Undoes the deletion by a change set. Main gets its earlier tree again, and the ledger says that the node is there. */
async function undoDeletion(deps: Services, repo: Repo, by: Author): Promise<void> {
  const ledger = readRef(repo, ledgerRef)
  if (ledger === null || (await readNodeRecord(repo, ledger)).state !== 'deleted') return
  await rewriteNode(deps, repo, by, 'restore', async ({ state: _, proposed_in: __, ...record }, head) => ({
    record,
    first: { tree: await treeBefore(repo, head), message: `Restore ${record.title}` },
  }))
}

/** Returns the tree that a page had before the commit that deleted it. */
export async function treeBefore(repo: Repo, head: Oid): Promise<Oid> {
  const { tree, parents } = await readCommit(repo, head)
  return tree === emptyTree && parents[0] ? (await readCommit(repo, parents[0])).tree : tree
}

/** The record of a node, and the next commit of its main. */
interface Rewritten {
  readonly record: NodeRecord
  readonly first?: { readonly tree: Oid; readonly message: string }
}

/**
 * Moves main and the ledger of a node that nobody sees, in one transaction. Does nothing without a main.
 *
 * @param subject of the ledger commit
 */
export async function rewriteNode(
  { store, now }: Pick<Services, 'store' | 'now'>,
  repo: Repo,
  by: Author,
  subject: string,
  decide: (record: NodeRecord, head: Oid) => Promise<Rewritten>,
): Promise<void> {
  const names = { head: { repo, ref: main }, ledger: { repo, ref: ledgerRef } }
  await updateRefs(store, [names.head, names.ledger], async (current) => {
    const [head, from] = [current(names.head), current(names.ledger)]
    if (head === null || from === null) return { moves: [], value: undefined }
    const { record, first } = await decide(await readNodeRecord(repo, from), head)
    const draft = newObjectBatch(repo)
    if (first?.tree === emptyTree) await draft.tree([])
    const at = now().toISOString()
    const person = signature(by, at)
    const next = first && { ...first, parents: [head], author: person, committer: person }
    const moves = [
      ...(next ? [{ ...names.head, to: await draft.commit(next) }] : []),
      { ...names.ledger, to: await addNodeRecord(draft, from, record, { by: authorOf(by), at, message: subject }) },
    ]
    return { moves, value: undefined, save: draft.save }
  })
}

async function indexRestored(deps: Services, { org_id: orgId, node_id: nodeId }: NodeAt): Promise<void> {
  await indexNode(deps, orgId, nodeId).catch((error: unknown) => {
    deps.log.error({ err: error, orgId, nodeId }, 'a restored node is not indexed yet')
    throw new AppError(
      'outcome_unknown',
      'The node was restored, but lists may not show it yet. Read it before you repeat the request',
    )
  })
}

/** Turns the faults of a race into refusals. The organisation, the copy or the node's place has changed. */
export function refusalOf(
  { store }: Pick<Services, 'store'>,
  { org_id: orgId, node_id: nodeId }: NodeAt,
  error: unknown,
): unknown {
  const isThere = () => repoExists(nodeRepo(store, orgId, nodeId))
  if (isGitError(error, 'repo_exists')) return nodeExistsError(orgId, nodeId)
  if (!isGitError(error, 'repo_missing')) return error
  if (!repoExists(orgRepo(store, orgId))) return orgNotFoundError()
  return isThere() ? nodeExistsError(orgId, nodeId) : notInTrash()
}

export function notInTrash(): AppError {
  return new AppError('node_not_found', 'The trash of this organisation does not have this node')
}

/** Reads the content that the node gets back. A change set deletes it by a commit without files. */
async function readMain(repo: Repo) {
  const head = readRef(repo, main)
  return readContent(repo, head === null ? null : await treeBefore(repo, head))
}

/** Finds parents of the deleted node that other nodes have put below it since. */
async function findCycles(
  { index }: Services,
  { org_id: orgId, node_id: nodeId }: NodeAt,
  parents: readonly { readonly id: string }[],
): Promise<ContentProblem[]> {
  const problems: ContentProblem[] = []
  const pace = createYielder()
  for (const { id } of parents) {
    // An index lookup costs as much as 25 tree entries.
    if (pace.shouldYield(25)) await pace.yieldToEventLoop()
    if (id === nodeId || !(await isAncestor(index.read, nodeId, id))) continue
    const title = (await findNode(index.read, wholeOrg(orgId), id))?.title
    if (title === undefined) continue
    const reason = `Its parent “${title}” has been moved below it since, so restoring it would create a cycle. Move ${id} first`
    problems.push({ path: edgeFile('parents', id), reason })
  }
  return problems
}

/**
 * Returns a page of the copies, newest first, then by id. Sorts only numbers and the page: to sort 100,000 objects would
 * block the event loop for 60 ms.
 */
function newestOf(all: readonly TrashedNode[], { limit, offset }: Page): TrashedNode[] {
  const times = Float64Array.from(all, ({ deletedMs }) => deletedMs).sort()
  const latest = times.at(-1 - offset)
  if (offset >= all.length || latest === undefined) return []
  const earliest = times[Math.max(0, all.length - offset - limit)] ?? 0
  const some = all.filter(({ deletedMs }) => deletedMs <= latest && deletedMs >= earliest)
  const before = all.filter(({ deletedMs }) => deletedMs > latest).length
  some.sort((a, b) => b.deletedMs - a.deletedMs || (a.nodeId < b.nodeId ? -1 : 1))
  return some.slice(offset - before, offset - before + limit)
}

function keptUntil({ config }: Pick<Services, 'config'>, { deletedMs }: TrashedNode): string {
  return new Date(Math.min(deletedMs + config.trashDays * 86_400_000, latestMs)).toISOString()
}

/** The latest time that ISO 8601 has with four digits of the year. */
const latestMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

/** Reads what the list says of a deleted node. Undefined if it has been restored or purged. */
async function readTrashed(deps: Services, orgId: string, { nodeId, deletedMs, repo }: TrashedNode) {
  const about = { id: nodeId, deleted_at: new Date(deletedMs).toISOString() }
  try {
    const deletion = await readDeletion(repo, deletedMs)
    const change_set = await proposingSet(deps, orgId, repo)
    const proposed = change_set === undefined ? {} : { change_set }
    return { ...about, ...(deletion ?? { title: await readLastTitle(repo) }), ...proposed }
  } catch (error) {
    if (isGitError(error, 'repo_missing')) return undefined
    // A damaged repository is listed, so that the maintainer can ask the operator about it.
    if (isDamage(error)) return { ...about, title: '' }
    throw error
  }
}

/** Returns the titles of deleted nodes that the trash still has. */
export async function readTrashedTitles(
  deps: Services,
  orgId: string,
  ids: ReadonlySet<string>,
): Promise<ReadonlyMap<string, string>> {
  const titles = new Map<string, string>()
  const copies = (await listTrashed(deps.store, orgId)).filter(({ nodeId }) => ids.has(nodeId))
  for (const copy of copies.sort((a, b) => a.deletedMs - b.deletedMs)) {
    const read = await readTrashed(deps, orgId, copy)
    if (read !== undefined) titles.set(copy.nodeId, read.title)
  }
  return titles
}

async function readLastTitle(repo: Repo): Promise<string> {
  const ledger = readRef(repo, ledgerRef)
  const { title } = await readMain(repo)
  return title ?? (ledger === null ? '' : (await readNodeRecord(repo, ledger)).title)
}
