/** Reads, lists, edits and deletes nodes. */
import { unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { makeFolder } from '../../../gitstore/durable.ts'
import { ignoreMissing } from '../../../gitstore/fs-exists.ts'
import type { ObjectDraft } from '../../../gitstore/objects/object-batch.ts'
import { readBlob } from '../../../gitstore/objects/objects.ts'
import { applyChanges } from '../../../gitstore/objects/tree-changes.ts'
import { updateRefs } from '../../../gitstore/refs/ref-transaction.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { moveRepo } from '../../../gitstore/repo-folders.ts'
import {
  countsOf,
  readConnections,
  readNeighbours,
  readOwnConnections,
  readOwnEdges,
} from '../../../index/derived/neighbours.ts'
import { newNeighbours } from '../../../index/derived/new-neighbours.ts'
import type { NewNodeRows } from '../../../index/derived/new-nodes.ts'
import {
  isProposed,
  listNodeRows,
  type NodeRow,
  readNodeText,
  readTitles,
} from '../../../index/derived/node-queries.ts'
import { findProposedHead } from '../../../index/derived/proposed-nodes.ts'
import * as neighbourLimits from '../../../index/limits.ts'
import { AppError, invalid } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { authorizeNode, authorizeOrg, type NodeAccess, type OrgAccess, recheckAccess } from '../access.ts'
import type { Person } from '../actor.ts'
import { commitToBranch } from '../branches/branch-commits.ts'
import { requireBranchName } from '../branches/revisions.ts'
import { findTypeOf, requireKnownType } from '../branches/type-rules.ts'
import { rulesOfBranch } from '../consent/branch-rules.ts'
import { requireFreePlaces } from '../consent/place-checks.ts'
import { type Mover, noteIntents } from '../event-log/note-intents.ts'
import {
  changedJson,
  mergedIntoNothing,
  type NodeFields,
  nodeJson,
  type PropertyChanges,
  requireTitle,
  textBytes,
} from '../format/node-files.ts'
import { readContent } from '../format/node-format.ts'
import { nodeFile, textFile } from '../format/paths.ts'
import { slugOf } from '../format/slug.ts'
import { reloadNode } from '../indexing/freshness.ts'
import { indexNode, readResult } from '../indexing/index-node.ts'
import { newNodeRows } from '../indexing/node-rows.ts'
import { withNodeIntent } from '../indexing/recovered.ts'
import { ledgerRef, trashedNodeRepo } from '../layout.ts'
import { recordDeletion } from '../ledger/deletions.ts'
import { type Page, pageOf, timeAndId } from '../pagination.ts'
import type { Ctx, Services } from '../services.ts'
import type { Body, NodeAt, OrgAt, Path, Query } from '../targets.ts'
import { keepingRules } from './kept-rules.ts'
import { locateProperty, type PropertyPatch, refuseWrongMerge } from './property-changes.ts'

export interface NodePatch extends PropertyPatch {
  readonly title?: string
  readonly tags?: readonly string[]
  readonly text_content?: string
  readonly message?: string
  readonly expected_head?: string | null
}

interface NodesQuery extends Page {
  readonly tag?: string
  readonly parent_id?: string
  readonly order?: 'created' | 'changed'
  /** The `next` of the page before. */
  readonly after?: string
}

/** Lists nodes, by default the oldest first. @throws ValidationError for `after` with `offset` */
export async function listNodes(ctx: Ctx, { path, query }: Path<OrgAt> & Query<NodesQuery>) {
  const { sees } = await authorizeOrg(ctx, path, 'public')
  const { limit, offset, order } = query
  if (query.after !== undefined && offset > 0) throw invalid(['query', 'after'], 'Send either after or offset')
  const after = query.after === undefined ? undefined : timeAndId(query.after)
  const found = await listNodeRows(ctx.index.read, sees, { ...query, after }, limits.listedPropertiesBytes)
  const rows = found.rows.slice(0, limit)
  const last = found.rows.length > limit ? rows.at(-1) : undefined
  return {
    nodes: await toListed(rows),
    ...pageOf(query, found.total),
    ...(last && { next: `${order === 'changed' ? last.updated_at : last.created_at}~${last.id}` }),
  }
}

/** Maps ids of nodes to their titles. Omits ids without a node that the caller may read. */
export async function findTitles(ctx: Ctx, at: OrgAt, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const { sees } = await authorizeOrg(ctx, at, 'public')
  return readTitles(ctx.index.read, sees, ids)
}

/** Describes the nodes of a page. Null as properties: they are longer than `limits.listedPropertiesBytes`. */
export async function toListed(rows: readonly ListedRow[]) {
  const nodes = []
  for (const { properties, ...row } of rows) {
    // Each of these takes about 1 ms to parse.
    if (properties !== null && properties.length > limits.listedPropertiesBytes / 8) await nextTurn()
    nodes.push({ ...toSummary({ ...row, properties: properties ?? '{}' }), ...(properties === null ? omitted : {}) })
  }
  return nodes
}

type ListedRow = Omit<SummaryRow, 'properties'> & { readonly properties: string | null }

const omitted = { properties_omitted: true as const }

/** Returns a node. The query decides whether the operation finds a proposed one. */
export async function getNode(ctx: Ctx, { path }: Path<NodeAt>) {
  const access = await authorizeNode(ctx, path, 'public')
  return isProposed(access.node) ? toProposed(ctx, access) : toNode(ctx, access)
}

/** Describes a proposed node as it is on the branch that proposes it. */
async function toProposed(deps: Services, access: NodeAccess) {
  const { sees, node, onlyNode, repo } = access
  const { read } = deps.index
  const head = await findProposedHead(read, node.id)
  const rows = head === undefined ? undefined : await newNodeRows(repo, node.ledger, head, 0)
  const details = await detailsOf(deps, access, node, async () => ({
    text_content: rows?.text ?? '',
    ...(rows === undefined || onlyNode !== undefined
      ? await readOwnEdges(read, sees, node.id)
      : firstOf(await newNeighbours(read, sees, rows))),
  }))
  return { ...details, state: 'proposed' as const, ...(node.proposed_in && { proposed_in: node.proposed_in }) }
}

function firstOf({ parents, connections, ...rest }: Awaited<ReturnType<typeof newNeighbours>>) {
  const most = neighbourLimits.neighbours
  return { ...rest, parents: parents.slice(0, most), connections: connections.slice(0, most) }
}

export function toNode(deps: Services, access: NodeAccess) {
  const { sees, node, onlyNode } = access
  const { read } = deps.index
  const readEdges = onlyNode === undefined ? readNeighbours : readOwnEdges
  return detailsOf(deps, access, node, async () => ({
    text_content: await readNodeText(read, node.id),
    ...(await readEdges(read, sees, node.id)),
  }))
}

/** Describes a new node, from the rows that its creation has written. */
export function toNewNode(deps: Services, access: OrgAccess, rows: NewNodeRows) {
  const { org, sees } = access
  return detailsOf(deps, access, { ...rows.node, org_id: org.id }, async () => ({
    text_content: rows.text,
    ...(await newNeighbours(deps.index.read, sees, rows)),
  }))
}

async function detailsOf<C extends object>(
  deps: Services,
  access: OrgAccess,
  node: SummaryRow,
  readRest: () => Promise<C>,
) {
  const summary = toSummary(node)
  return {
    ...summary,
    ...(await findTypeOf(deps, access.org.id, summary)),
    ...(await readRest()),
    ...(access.role !== null && (await proposalsOf(deps, access, node))),
  }
}

/** Says what rules demand of changes. The first commit of `main` needs no pull request. */
async function proposalsOf(deps: Services, { org }: OrgAccess, node: Pick<SummaryRow, 'id' | 'head'>) {
  const rules = await rulesOfBranch(deps, org, node.id, 'main')
  return {
    main_needs_pull_request: node.head !== null && rules.length > 0,
    ...(rules.some(({ rule }) => rule.pages === 'all') && { children_need_change_set: true }),
  }
}

/** Reads the node after a change. @throws the errors of readResult */
export function nodeAfter(deps: Services, access: NodeAccess): ReturnType<typeof toNode> {
  return readResult(deps, async () => toNode(deps, await reloadNode(deps, access, 'public')))
}

/** Lists the connections that the node holds, and those that lead to it. */
export async function listConnections(ctx: Ctx, { path, query }: Path<NodeAt> & Query<Page>) {
  const { node_id: nodeId } = path
  const { onlyNode, sees } = await authorizeNode(ctx, path, 'public')
  if (onlyNode !== undefined) {
    const { connections, total } = await readOwnConnections(ctx.index.read, sees, nodeId, query)
    return { connections, ...pageOf(query, total) }
  }
  const { num_connections } = await countsOf(ctx.index.read, sees, nodeId)
  const connections = await readConnections(ctx.index.read, sees, nodeId, query)
  return { connections, ...pageOf(query, num_connections) }
}

/** Changes a node with one commit on main, or with none if nothing changes. */
export async function updateNode(ctx: Ctx<Person>, { path, body }: Path<NodeAt> & Body<NodePatch>) {
  const access = await authorizeNode(ctx, path, 'editor')
  if (body.title !== undefined) requireTitle(body.title)
  refuseWrongMerge(body, ['body'])
  const text = body.text_content === undefined ? {} : { text: textBytes(body.text_content) }
  await commitToBranch(ctx, access, {
    branch: requireBranchName('main'),
    message: body.message ?? 'Edit node',
    expectedHead: body.expected_head,
    addsParents: false,
    build: async (draft, tree) => {
      if (body.properties) await requireKnownType(ctx, path.org_id, draft, tree, body.properties, ['body'])
      return patchTree(draft, tree, access.node, { ...body, ...text })
    },
    locate: (_, steps = []) => ['body', ...locateProperty(body, steps)],
  }).catch((error: unknown) => {
    if (!(error instanceof AppError) || error.code !== 'no_changes') throw error
  })
  return nodeAfter(ctx, access)
}

/**
 * Deletes a node. Renames its repository into the trash under the ledger's lock, then deletes its rows.
 *
 * @throws errors of authorizeNode; AppError pull_request_required, rule_would_end, outcome_unknown
 */
export async function deleteNode(ctx: Ctx<Person>, { path }: Path<NodeAt>): Promise<void> {
  const access = await authorizeNode(ctx, path, 'maintainer')
  await requireDeletable(ctx, access.org, access.node)
  const check = async () =>
    requireDeletable(ctx, (await recheckAccess(ctx, path.org_id, 'maintainer')).org, access.node)
  await keepingRules(ctx, path, () => moveToTrash(ctx, path, access, { by: ctx.actor, check }))
}

/** @throws AppError pull_request_required */
function requireDeletable(deps: Services, org: OrgAccess['org'], { id, title }: NodeAccess['node']): Promise<void> {
  return requireFreePlaces(deps, org, async () => [{ id, title, act: 'delete', parents: [] }])
}

interface Trashing {
  readonly by: Mover
  /** Runs under the lock of the ledger, before the move. */
  readonly check: () => Promise<void>
}

/** Moves the node's repository to the trash, and deletes its rows. @throws AppError outcome_unknown; errors of `check` */
export async function moveToTrash(
  deps: Services,
  at: NodeAt,
  { repo, node }: { readonly repo: Repo; readonly node: Pick<NodeRow, 'title'> },
  { by, check }: Trashing,
): Promise<void> {
  const { org_id: orgId, node_id: nodeId } = at
  const now = deps.now()
  const trashed = trashedNodeRepo(deps.store, orgId, nodeId, now)
  await makeFolder(dirname(trashed.dir))
  await withNodeIntent(deps, orgId, [nodeId], async () => {
    await updateRefs(deps.store, [{ repo, ref: ledgerRef }], async () => {
      await check()
      await recordDeletion(deps, by, { repo, title: node.title }, now)
      await noteIntents(deps, by, [{ repo, ref: ledgerRef, to: null }])
      await moveRepo(repo.dir, trashed.dir)
      // If it is gone, the node was restored at once.
      await ignoreMissing(unlink(join(trashed.dir, `${ledgerRef}.lock`)))
      return { moves: [], value: undefined }
    })
    await indexNode(deps, orgId, nodeId).catch((error: unknown) => {
      deps.log.error({ err: error, orgId, nodeId }, 'a deleted node is still indexed')
      throw new AppError(
        'outcome_unknown',
        'The node was deleted, but lists may still show it. Read again before you repeat the request',
      )
    })
  })
}

type SummaryRow = Pick<
  NodeRow,
  'id' | 'org_id' | 'title' | 'tags' | 'properties' | 'created_at' | 'updated_at' | 'head'
>

function toSummary(node: SummaryRow) {
  return {
    id: node.id,
    org_id: node.org_id,
    title: node.title,
    slug: slugOf(node.title),
    tags: JSON.parse(node.tags) as string[], // written by index-node.ts
    properties: JSON.parse(node.properties) as Record<string, unknown>, // written by index-node.ts
    created_at: node.created_at,
    updated_at: node.updated_at,
    ...(node.head === null ? {} : { head: node.head }),
  }
}

/** Builds the tree with these fields. @param node has the title, in case node.json has none */
export async function patchTree(
  draft: ObjectDraft,
  tree: Oid | null,
  node: Pick<NodeRow, 'title'>,
  patch: Partial<NodeFields> & { readonly merge_properties?: PropertyChanges; readonly text?: Buffer },
): Promise<Oid> {
  const changes: { path: string; blob: Oid }[] = []
  const { title, tags, properties, merge_properties: merge = {}, text } = patch
  if (title !== undefined || tags || properties || Object.keys(merge).length > 0) {
    const fields = {
      ...(title === undefined ? {} : { title }),
      ...(tags && { tags }),
      ...(properties && { properties }),
    }
    const { jsonBlob } = await readContent(draft.repo, tree)
    const json = jsonBlob && (await readBlob(draft.repo, jsonBlob))
    // An unreadable node.json is replaced.
    const bytes = json
      ? changedJson(json, fields, merge)
      : nodeJson({ title: node.title, properties: mergedIntoNothing(merge), ...fields })
    changes.push({ path: nodeFile, blob: await draft.blob(bytes) })
  }
  if (text !== undefined) changes.push({ path: textFile, blob: await draft.blob(text) })
  return applyChanges(draft, tree, changes)
}
