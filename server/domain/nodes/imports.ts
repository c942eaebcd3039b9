/** Writes a planned folder as nodes: creates new ones, commits to changed ones, leaves the rest. */

import { GitError, isStorageFault } from '../../../gitstore/errors.ts'
import { newObjectBatch } from '../../../gitstore/objects/object-batch.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { findNode, listNodeIds } from '../../../index/derived/node-queries.ts'
import type { Deps } from '../../deps.ts'
import { Invalid, Refusal } from '../../errors.ts'
import { nodeFor, orgFor } from '../access.ts'
import type { Person } from '../actor.ts'
import type { OrgAt } from '../at.ts'
import { commitToBranch } from '../branches/branch-moves.ts'
import { readTree } from '../branches/commit-trees.ts'
import { knownBranch } from '../branches/revisions.ts'
import type { PathProblem } from '../format/path-problem.ts'
import { edgeIdAt, liesIn } from '../format/paths.ts'
import { indexNode } from '../indexing/index-node.ts'
import { main } from '../layout.ts'
import { buildTree, createNodeFrom, type NodeFiles } from './node-creation.ts'
import { deleteNode } from './nodes.ts'

interface ImportedNode {
  readonly id: string
  /** Relative to the folder; for messages. */
  readonly path: string
  /** Where it was before; for messages. */
  readonly movedFrom?: string
  readonly title: string
  /** The node's whole tree. */
  readonly files: NodeFiles
}

/** Paths, in the order of the plan. */
export interface Imported {
  readonly created: readonly string[]
  /** Of the same path as before. */
  readonly updated: readonly string[]
  readonly renamed: readonly string[]
  readonly removed: readonly string[]
  readonly unchanged: number
  readonly problems: readonly PathProblem[]
}

export interface ImportInput {
  /** Parents before children. */
  readonly nodes: readonly ImportedNode[]
  /** Nodes to delete. */
  readonly removed: readonly Pick<ImportedNode, 'id' | 'path'>[]
  /** Changes nothing and answers what would be changed, but for what would be refused. */
  readonly dryRun?: boolean
  readonly onProgress: (done: number, total: number) => void
}

/**
 * Makes each node's main equal to the plan; previous content stays in the history. Creates new nodes first without edges to
 * nodes that do not exist yet, then adds those, then moves the removed ones to the trash. A refused node is reported as a
 * problem and does not stop the others. A repeated import completes an interrupted one.
 *
 * @throws Refusal org_not_found, forbidden; GitError storage_*, DatabaseFault; the reason of `deps.draining`
 */
export async function importNodes(
  deps: Deps,
  actor: Person,
  at: OrgAt,
  { nodes, removed, dryRun = false, onProgress }: ImportInput,
): Promise<Imported> {
  const { orgId } = at
  await orgFor(deps, actor, at, removed.length > 0 ? 'maintainer' : 'editor')
  const there = new Set(await listNodeIds(deps.index.read, orgId))
  const [created, whole] = [new Set<string>(), new Set<string>()]
  const done = { created: [] as string[], updated: [] as string[], renamed: [] as string[], removed: [] as string[] }
  let unchanged = 0
  const problems: PathProblem[] = []
  const attempt = async (path: string, work: () => Promise<void>): Promise<void> => {
    deps.draining.throwIfAborted()
    await work().catch((error: unknown) => problems.push({ path, reason: reasonOf(error) }))
  }
  const total = nodes.length * 2 + removed.length
  let steps = 0
  for (const node of nodes) {
    if (!there.has(node.id))
      await attempt(node.path, async () => {
        const files = dryRun ? node.files : withEdgesTo(there, node.files)
        if (dryRun || (await create(deps, actor, orgId, { ...node, files }))) {
          created.add(node.id)
          done.created.push(node.path)
          if (files.size === node.files.size) whole.add(node.id)
        }
        there.add(node.id)
      })
    onProgress(++steps, total)
  }
  for (const node of nodes) {
    if (there.has(node.id) && !whole.has(node.id))
      await attempt(node.path, async () => {
        const files = withEdgesTo(there, node.files)
        const lost = node.files.size - files.size
        if (lost > 0)
          problems.push({ path: node.path, reason: `${lost} of its edges lead to what could not be placed` })
        const isMoved = await replaceTree(deps, actor, orgId, { ...node, files }, dryRun)
        if (created.has(node.id)) return
        if (!isMoved) unchanged++
        else done[node.movedFrom === undefined ? 'updated' : 'renamed'].push(node.path)
      })
    onProgress(++steps, total)
  }
  for (const { id, path } of removed) {
    await attempt(path, async () => {
      if (!dryRun) await deleteNode(deps, actor, { orgId, nodeId: id })
      done.removed.push(path)
    })
    onProgress(++steps, total)
  }
  return { ...done, unchanged, problems }
}

/** @throws errors that do not concern this node alone; they end the import */
function reasonOf(error: unknown): string {
  if (error instanceof Invalid) return error.problems.map((problem) => problem.msg).join('; ')
  if (error instanceof Refusal) return error.message
  if (error instanceof GitError && !isStorageFault(error)) return error.message
  throw error
}

/** Removes edges to nodes that are not in `there`. */
function withEdgesTo(there: ReadonlySet<string>, files: NodeFiles): NodeFiles {
  return new Map(
    [...files].filter(([path, bytes]) => {
      const other = otherEnd(path, bytes)
      return other === undefined || there.has(other)
    }),
  )
}

/** The other node, if the file is an edge. */
function otherEnd(path: string, bytes: Buffer): string | undefined {
  const parent = edgeIdAt('parents', path)
  if (parent !== undefined || !liesIn('connections', path)) return parent
  return (JSON.parse(bytes.toString()) as { target: string }).target // written by the plan
}

/** False if the node exists: created by an interrupted or a concurrent import. */
async function create(deps: Deps, actor: Person, orgId: string, node: ImportedNode): Promise<boolean> {
  const { id, path, title, files } = node
  const seed = { id, title, files, message: `Import ${path}`, locate: (file: string) => [file] }
  try {
    // Checked per node: an import takes minutes.
    await createNodeFrom(deps, actor, await orgFor(deps, actor, { orgId }, 'editor'), seed)
    return true
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'node_exists') throw error
    await indexNode(deps, orgId, id)
    if (!(await findNode(deps.index.read, orgId, id))) throw error
    return false
  }
}

/** True if a commit was needed. */
async function replaceTree(
  deps: Deps,
  actor: Person,
  orgId: string,
  node: ImportedNode,
  dryRun: boolean,
): Promise<boolean> {
  const access = await nodeFor(deps, actor, { orgId, nodeId: node.id }, 'editor')
  const head = readRef(access.repo, main)
  if (head !== null && (await isTree(access.repo, await readTree(access.repo, head), node.files))) return false
  if (dryRun) return true
  await commitToBranch(deps, actor, access, {
    branch: knownBranch('main'),
    message: `Import ${node.path}${node.movedFrom === undefined ? '' : `, before ${node.movedFrom}`}`,
    expectedHead: head,

    addsParents: [...node.files.keys()].some((path) => liesIn('parents', path)),
    build: (draft, tree) => buildTree(draft, tree, node.files),
    locate: (path) => [path],
  })
  return true
}

/** Whether `tree` contains exactly these files. Needs no lock; in a second import this holds for nearly every node. */
async function isTree(repo: Repo, tree: Oid, files: NodeFiles): Promise<boolean> {
  return (await buildTree(newObjectBatch(repo), tree, files)) === tree
}
