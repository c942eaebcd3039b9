/** Proposes a planned folder. Its new, changed and removed nodes become items of change sets. */
import { newObjectDraft } from '../../../../gitstore/objects/object-batch.ts'
import { listFiles } from '../../../../gitstore/objects/trees.ts'
import { readRef } from '../../../../gitstore/refs/refs.ts'
import { findSetById } from '../../../../index/derived/change-sets.ts'
import { findProposedNode } from '../../../../index/derived/proposed-nodes.ts'
import { listOpenPulls } from '../../../../index/derived/pulls.ts'
import { AppError, ValidationError } from '../../../base/errors.ts'
import * as limits from '../../../base/limits.ts'
import type { Person } from '../../../domain/actor.ts'
import { findTree } from '../../../domain/branches/revisions.ts'
import { liesIn, nodeFile } from '../../../domain/format/paths.ts'
import { branchRef, main, nodeRepo } from '../../../domain/layout.ts'
import { buildTree } from '../../../domain/nodes/node-creation.ts'
import type { Ctx } from '../../../domain/services.ts'
import { type NewSet, openChangeSet } from '../../../domain/sets/open.ts'
import type { OrgAt } from '../../../domain/targets.ts'
import type { Proposal } from '../plan/summary.ts'
import { type ImportedNode, importMessage, withoutEdgesTo } from './imported-nodes.ts'

type Deletion = Pick<ImportedNode, 'id' | 'path'>
type Item = ImportedNode | Deletion

interface ToPropose {
  /** New and changed nodes. Parents come before children. */
  readonly nodes: readonly ImportedNode[]
  /** The nodes to delete. */
  readonly removed: readonly Deletion[]
  readonly isNew: (id: string) => boolean
  readonly title: string
  readonly onProgress: (done: number) => void
}

interface Proposed {
  readonly proposals: readonly Proposal[]
  /** The reasons why nodes are in no set of this import, by their ids. */
  readonly refused: ReadonlyMap<string, string>
  /** The ids of nodes that an open set proposes already as they are. */
  readonly known: ReadonlySet<string>
  /** The number of edges that were left out, because a later set creates their targets. */
  readonly cut: number
}

/**
 * Opens as many sets as the items need. They merge in this order, so none has edges to new nodes of a later one.
 *
 * @throws AppError as openChangeSet, except for the errors of one set
 * @throws GitError storage_*, the reason of `deps.draining`
 */
export async function proposeImport(ctx: Ctx<Person>, at: OrgAt, input: ToPropose): Promise<Proposed> {
  const { nodes, removed, isNew, title, onProgress } = input
  const elsewhere = new Map<string, string>()
  const refused = new Map<string, string>()
  const known = new Set<string>()
  const items: Item[] = []
  for (const node of nodes) {
    ctx.draining.throwIfAborted()
    const found = await findProposal(ctx, at.org_id, node)
    if (found === undefined) items.push(node)
    else if (found === 'same') known.add(node.id)
    else elsewhere.set(node.id, found)
  }
  const later = new Set(items.flatMap(({ id }) => (isNew(id) ? id : [])))
  const parts = partsOf([...items, ...removed])
  const proposals: Proposal[] = []
  let done = nodes.length - items.length
  let cut = 0
  for (const [n, part] of parts.entries()) {
    ctx.draining.throwIfAborted()
    for (const { id } of part) later.delete(id)
    const named = parts.length === 1 ? title : `${title} (${n + 1} of ${parts.length})`
    const opened = await openPart(ctx, at, { title: named, items: part, isNew, later, refused })
    if (opened) {
      proposals.push(opened.proposal)
      cut += opened.cut
    }
    done += part.length
    onProgress(done)
  }
  return { proposals, refused: new Map([...elsewhere, ...refused]), known, cut }
}

/** Returns `same`, or why the node cannot be proposed now. Undefined: no change set has it. */
async function findProposal(ctx: Ctx<Person>, orgId: string, { id, files }: ImportedNode): Promise<string | undefined> {
  const { read } = ctx.index
  const item = (await listOpenPulls(read, id)).find(({ change_set }) => change_set !== null)
  if (!item) {
    const isClosed = (await findProposedNode(read, orgId, id)) !== undefined
    return isClosed ? 'a closed change set proposes this page; reopen it first' : undefined
  }
  const repo = nodeRepo(ctx.store, orgId, id)
  const tree = await findTree(repo, readRef(repo, branchRef(item.source_branch)))
  if (tree === (await buildTree(newObjectDraft(repo, new Map()), null, files))) return 'same'
  const set = await findSetById(read, orgId, item.change_set ?? '')
  return `change set ${set?.number ?? ''} has this page with other content; merge or close it first`
}

/** The most bytes of files in a set. */
const partBytes = 8 * 1_048_576

/** Cuts the items into sets. Keeps their order. */
function partsOf(items: readonly Item[]): Item[][] {
  const parts: Item[][] = []
  let [bytes, edges] = [0, 0]
  for (const item of items) {
    const files = 'files' in item ? [...item.files] : []
    const size = files.reduce((sum, [, { length }]) => sum + length, 0)
    const count = files.reduce((sum, [path, content]) => sum + edgesIn(path, content), 0)
    const last = parts.at(-1)
    bytes += size
    edges += count
    if (last && last.length < limits.changeSetItems && bytes <= partBytes && edges <= limits.changeSetEdges) {
      last.push(item)
      continue
    }
    parts.push([item])
    bytes = size
    edges = count
  }
  return parts
}

/** Counts the edges and tags in a file. */
function edgesIn(path: string, content: Buffer): number {
  if (path !== nodeFile) return liesIn('parents', path) || liesIn('connections', path) ? 1 : 0
  const { tags = [] } = JSON.parse(content.toString()) as { readonly tags?: readonly string[] } // written by the plan
  return tags.length
}

interface SetPart extends Pick<ToPropose, 'isNew' | 'title'> {
  readonly items: readonly Item[]
  /** The ids of new nodes of later sets. */
  readonly later: ReadonlySet<string>
  readonly refused: Map<string, string>
}

/** Opens a set, and again without refused items. Undefined: all of them are refused. */
async function openPart(ctx: Ctx<Person>, at: OrgAt, { title, items, isNew, later, refused }: SetPart) {
  for (;;) {
    const left = items.filter(({ id }) => !refused.has(id))
    if (left.length === 0) return undefined
    const lost = new Set([...later, ...[...refused.keys()].filter(isNew)])
    const nodes: SentNode[] = []
    let cut = 0
    for (const item of left) {
      if (!('files' in item)) continue
      const files = withoutEdgesTo(lost, item.files)
      cut += item.files.size - files.size
      nodes.push(await toSent(ctx, at, { ...item, files }, isNew(item.id)))
    }
    const deletions = left.flatMap((item) => ('files' in item ? [] : { node_id: item.id }))
    const body = { title, description: '', is_draft: false, nodes, deletions }
    try {
      const request = { from: '', base: '', signal: ctx.draining }
      const { change_set } = await openChangeSet({ ...ctx, request }, { path: at, body })
      return { proposal: { number: change_set.number, pages: change_set.num_items }, cut }
    } catch (error) {
      for (const [id, reason] of refusalsIn(error, left, nodes)) refused.set(id, reason)
    }
  }
}

type SentNode = NonNullable<NewSet['nodes']>[number]

/** Returns the node as an item of a request, with all its files. */
async function toSent(ctx: Ctx<Person>, { org_id: orgId }: OrgAt, node: ImportedNode, isNew: boolean) {
  const { id, title, files } = node
  const repo = nodeRepo(ctx.store, orgId, id)
  const before = isNew ? null : await findTree(repo, readRef(repo, main))
  const had = before === null ? [] : await listFiles(repo, before)
  const gone = had.filter(({ path }) => !files.has(path))
  const changes = [
    ...[...files].map(([path, bytes]) => {
      return { action: 'put', path, content: bytes.toString('base64'), encoding: 'base64' } as const
    }),
    ...gone.map(({ path }) => ({ action: 'delete', path }) as const),
  ]
  return { id, message: importMessage(node), changes, ...(isNew && { title }) }
}

/** The errors of one set. */
const setErrors = ['item_exists', 'node_exists', 'too_many_items', 'quota_exceeded', 'too_many_change_sets']

/** Returns the refused items, by the ids of their nodes. @throws the error, if it is not about items */
function refusalsIn(error: unknown, items: readonly Item[], nodes: readonly SentNode[]): Map<string, string> {
  if (error instanceof AppError && setErrors.includes(error.code))
    return new Map(items.map(({ id }) => [id, error.message]))
  const found = new Map<string, string>()
  for (const { loc, msg } of error instanceof ValidationError ? error.problems : []) {
    const id = loc[1] === 'nodes' && typeof loc[2] === 'number' ? nodes[loc[2]]?.id : undefined
    if (id !== undefined) found.set(id, [...(found.has(id) ? [found.get(id)] : []), msg].join('; '))
  }
  if (found.size === 0) throw error
  return found
}
