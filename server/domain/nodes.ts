/** Nodes: read, listed, edited and moved to the trash. */
import { unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Draft } from '../../gitstore/draft.ts'
import { makeFolder } from '../../gitstore/durable.ts'
import { transact } from '../../gitstore/ref-transaction.ts'
import type { Oid } from '../../gitstore/repo.ts'
import { moveRepo } from '../../gitstore/repos.ts'
import { applyChanges } from '../../gitstore/trees.ts'
import type { Deps } from '../deps.ts'
import { Refusal } from '../errors.ts'
import { type NodeRow, nodeFor, orgFor, requireStill } from './access.ts'
import type { Actor, Person } from './actor.ts'
import { commitToBranch } from './branch-moves.ts'
import { knownBranch } from './contents.ts'
import { type NodeContent, readContent } from './entities.ts'
import { followNode, readBack } from './follow.ts'
import { readNeighbours } from './neighbours.ts'
import { type NodeFields, nodeJson, requireTitle, textBytes } from './node-files.ts'
import { type Page, pageOf } from './pages.ts'
import { ledgerRef, trashFolder } from './places.ts'

export interface NodePatch extends Partial<NodeFields> {
  readonly text_content?: string
  readonly message?: string
  readonly expected_head?: string | null
}

/** Oldest first. */
export async function listNodes(
  deps: Deps,
  actor: Person,
  orgId: string,
  query: Page & { tag?: string; parent_id?: string },
) {
  await orgFor(deps, actor, orgId, 'reader')
  const { tag, parent_id } = query
  let all = deps.index.read.selectFrom('node').where('org_id', '=', orgId)
  if (tag !== undefined)
    all = all.where('id', 'in', deps.index.read.selectFrom('node_tag').select('node_id').where('tag', '=', tag))
  if (parent_id !== undefined) {
    const children = deps.index.read
      .selectFrom('edge')
      .innerJoin('node as parent', 'parent.id', 'edge.source')
      .select('edge.target')
      .where('parent.id', '=', parent_id)
      .where('edge_type', '=', 'parent_child')
    all = all.where('id', 'in', children)
  }
  const rows = await all
    .selectAll()
    .orderBy('created_at')
    .orderBy('id')
    .limit(query.limit)
    .offset(query.offset)
    .execute()
  const { total } = await all.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
  return { nodes: rows.map(toSummary), ...pageOf(query, total) }
}

export async function readNode(deps: Deps, actor: Actor, orgId: string, nodeId: string) {
  const { node } = await nodeFor(deps, actor, orgId, nodeId, 'public')
  const text = await deps.index.read
    .selectFrom('node_text')
    .select('text')
    .where('node_id', '=', nodeId)
    .executeTakeFirst()
  return {
    ...toSummary(node),
    text_content: text?.text ?? '',
    ...(await readNeighbours(deps.index.read, orgId, nodeId)),
  }
}

/** One commit on main, or none if nothing changes. */
export async function updateNode(deps: Deps, actor: Person, orgId: string, nodeId: string, patch: NodePatch) {
  const access = await nodeFor(deps, actor, orgId, nodeId, 'editor')
  if (patch.title !== undefined) requireTitle(patch.title)
  await commitToBranch(deps, actor, access, {
    branch: knownBranch('main'),
    message: patch.message ?? 'Edit node',
    expectedHead: patch.expected_head,
    addsParents: false,
    build: (draft, tree) => patchTree(draft, tree, access.node, patch),
    locate: () => ['body'],
  }).catch((error: unknown) => {
    if (!(error instanceof Refusal) || error.code !== 'no_changes') throw error
  })
  return readBack(deps, () => readNode(deps, actor, orgId, nodeId))
}

/** Renames the repository into the trash under the ledger's lock; the row follows. */
export async function deleteNode(deps: Deps, actor: Person, orgId: string, nodeId: string): Promise<void> {
  const { repo } = await nodeFor(deps, actor, orgId, nodeId, 'maintainer')
  const folder = join(trashFolder(deps.store), orgId)
  await makeFolder(folder)
  const trashed = join(folder, `${nodeId}.${deps.now().getTime()}.git`)
  await transact(deps.store, [{ repo, ref: ledgerRef }], async () => {
    await requireStill(deps, actor, orgId, 'maintainer')
    await moveRepo(repo.dir, trashed)
    await unlink(join(trashed, `${ledgerRef}.lock`))
    return { moves: [], value: undefined }
  })
  await followNode(deps, orgId, nodeId).catch((error: unknown) => {
    deps.log.error({ err: error, orgId, nodeId }, 'the index still has a deleted node')
    throw new Refusal('outcome_unknown', 'The node is deleted, but not everywhere yet; read again')
  })
}

function toSummary(node: NodeRow) {
  return {
    id: node.id,
    org_id: node.org_id,
    title: node.title,
    tags: JSON.parse(node.tags) as string[], // written by follow.ts
    properties: JSON.parse(node.properties) as Record<string, unknown>, // written by follow.ts
    created_at: node.created_at,
    updated_at: node.updated_at,
    ...(node.head === null ? {} : { head: node.head }),
  }
}

async function patchTree(draft: Draft, tree: Oid | null, node: NodeRow, patch: NodePatch): Promise<Oid> {
  const content = await readContent(draft.repo, tree)
  const changes: { path: string; blob: Oid }[] = []
  if (patch.title !== undefined || patch.tags || patch.properties) {
    const bytes = nodeJson(patchedFields(content, node, patch), content.json)
    changes.push({ path: 'node.json', blob: await draft.blob(bytes) })
  }
  if (patch.text_content !== undefined)
    changes.push({ path: 'content.md', blob: await draft.blob(textBytes(patch.text_content)) })
  return applyChanges(draft, tree, changes)
}

function patchedFields(content: NodeContent, node: NodeRow, patch: NodePatch): NodeFields {
  return {
    title: patch.title ?? content.title ?? node.title,
    tags: patch.tags ?? content.tags,
    properties: patch.properties ?? content.properties,
  }
}
