/** Writes a planned folder as nodes: creates new ones, commits to changed ones, leaves the rest. */

import { GitError, isStorageFault } from '../../../gitstore/errors.ts'
import { newObjectBatch } from '../../../gitstore/objects/object-batch.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { findNode, listNodeProperties } from '../../../index/derived/node-queries.ts'
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

interface ImportedNode {
  readonly id: string
  /** Relative to the folder; for messages. */
  readonly path: string
  readonly title: string
  /** The node's whole tree. */
  readonly files: NodeFiles
}

export interface Imported {
  readonly created: number
  readonly updated: number
  readonly unchanged: number
  /** Nodes of an earlier import whose file is gone; they are kept. */
  readonly missing: { id: string; title: string; path: string }[]
  readonly problems: readonly PathProblem[]
}

export interface ImportInput {
  /** Parents before children. */
  readonly nodes: readonly ImportedNode[]
  readonly onProgress: (done: number, total: number) => void
}

/**
 * Makes each node's main equal to the plan; previous content stays in the history. Creates new nodes first without edges to
 * nodes that do not exist yet, then adds those. A refused node is reported as a problem and does not stop the others. A
 * repeated import completes an interrupted one.
 *
 * @throws Refusal org_not_found, forbidden; GitError storage_*, DatabaseFault; the reason of `deps.draining`
 */
export async function importNodes(
  deps: Deps,
  actor: Person,
  at: OrgAt,
  { nodes, onProgress }: ImportInput,
): Promise<Imported> {
  const { orgId } = at
  await orgFor(deps, actor, at, 'editor')
  const there = new Set((await listNodeProperties(deps.index.read, orgId)).map((row) => row.id))
  const [created, whole] = [new Set<string>(), new Set<string>()]
  const counts = { created: 0, updated: 0, unchanged: 0 }
  const problems: PathProblem[] = []
  const attempt = async (node: ImportedNode, work: () => Promise<void>): Promise<void> => {
    await work().catch((error: unknown) => problems.push({ path: node.path, reason: reasonOf(error) }))
  }
  const total = nodes.length * 2
  for (const [done, node] of nodes.entries()) {
    deps.draining.throwIfAborted()
    if (!there.has(node.id)) {
      await attempt(node, async () => {
        const files = withEdgesTo(there, node.files)
        if (await create(deps, actor, orgId, { ...node, files })) {
          created.add(node.id)
          if (files.size === node.files.size) whole.add(node.id)
        }
        there.add(node.id)
      })
    }
    onProgress(done + 1, total)
  }
  for (const [done, node] of nodes.entries()) {
    deps.draining.throwIfAborted()
    if (there.has(node.id) && !whole.has(node.id)) {
      await attempt(node, async () => {
        const files = withEdgesTo(there, node.files)
        const lost = node.files.size - files.size
        if (lost > 0)
          problems.push({ path: node.path, reason: `${lost} of its edges lead to what could not be placed` })
        const moved = await replaceTree(deps, actor, orgId, { ...node, files })
        if (!created.has(node.id)) counts[moved ? 'updated' : 'unchanged']++
      })
    }
    onProgress(nodes.length + done + 1, total)
  }
  return { ...counts, created: created.size, missing: await missingNodes(deps, orgId, nodes), problems }
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
async function replaceTree(deps: Deps, actor: Person, orgId: string, node: ImportedNode): Promise<boolean> {
  const access = await nodeFor(deps, actor, { orgId, nodeId: node.id }, 'editor')
  const head = readRef(access.repo, main)
  if (head !== null && (await isTree(access.repo, await readTree(access.repo, head), node.files))) return false
  await commitToBranch(deps, actor, access, {
    branch: knownBranch('main'),
    message: `Import ${node.path}`,
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

async function missingNodes(deps: Deps, orgId: string, nodes: readonly ImportedNode[]): Promise<Imported['missing']> {
  const planned = new Set(nodes.map((node) => node.id))
  return (await listNodeProperties(deps.index.read, orgId)).flatMap(({ id, title, properties }) => {
    const { source_path: path } = JSON.parse(properties) as Record<string, unknown> // written by index-node.ts
    return typeof path === 'string' && !planned.has(id) ? [{ id, title, path }] : []
  })
}
