/** A planned folder becomes nodes: what is new is made, what differs gets one commit, what is the same is left alone. */
import type { Draft } from '../../gitstore/draft.ts'
import { readRef } from '../../gitstore/refs.ts'
import type { Oid } from '../../gitstore/repo.ts'
import { applyChanges, listFiles } from '../../gitstore/trees.ts'
import type { Deps } from '../deps.ts'
import { Invalid, Refusal } from '../errors.ts'
import { findNode, nodeFor } from './access.ts'
import type { Person } from './actor.ts'
import { commitToBranch } from './branch-moves.ts'
import { knownBranch } from './contents.ts'
import { createNodeFrom, type NodeFiles } from './nodes.ts'
import { main } from './places.ts'

export interface ImportedNode {
  readonly id: string
  /** Relative to the folder: for messages. */
  readonly path: string
  readonly title: string
  /** The node's whole tree. */
  readonly files: NodeFiles
}

export interface Imported {
  readonly created: number
  readonly updated: number
  readonly unchanged: number
  /** Nodes that an earlier import made and this folder no longer has; they are kept. */
  readonly missing: { id: string; title: string; path: string }[]
  readonly problems: { path: string; reason: string }[]
}

/**
 * Makes each node's main equal to the plan: the folder wins, what was there stays in the history. Nodes first, without
 * their connections, since a connection may point at a node that comes later; `nodes` has parents before children.
 */
export async function importNodes(
  deps: Deps,
  actor: Person,
  orgId: string,
  nodes: readonly ImportedNode[],
  onProgress: (done: number, total: number) => void,
): Promise<Imported> {
  const problems: { path: string; reason: string }[] = []
  const attempt = async <T>(node: ImportedNode, work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof Invalid || error instanceof Refusal)) throw error
      problems.push({ path: node.path, reason: error.message })
      return undefined
    }
  }
  const created = new Set<string>()
  const total = nodes.length * 2
  for (const [done, node] of nodes.entries()) {
    if (!(await findNode(deps.index.read, orgId, node.id))) {
      const files = new Map([...node.files].filter(([path]) => !path.startsWith('connections/')))
      const seed = {
        id: node.id,
        title: node.title,
        files,
        message: `Import ${node.path}`,
        locate: (path: string) => [path],
      }
      if (await attempt(node, () => createNodeFrom(deps, actor, orgId, seed))) created.add(node.id)
    }
    onProgress(done + 1, total)
  }
  let updated = 0
  for (const [done, node] of nodes.entries()) {
    if (await attempt(node, () => replaceTree(deps, actor, orgId, node))) updated += created.has(node.id) ? 0 : 1
    onProgress(nodes.length + done + 1, total)
  }
  const unchanged = nodes.length - created.size - updated
  return { created: created.size, updated, unchanged, missing: await missingNodes(deps, orgId, nodes), problems }
}

/** True if a commit was needed. */
async function replaceTree(deps: Deps, actor: Person, orgId: string, node: ImportedNode): Promise<boolean> {
  const access = await nodeFor(deps, actor, orgId, node.id, 'editor')
  const head = readRef(access.repo, main)
  try {
    await commitToBranch(deps, actor, access, {
      branch: knownBranch('main'),
      message: `Import ${node.path}`,
      expectedHead: head,
      addsParents: [...node.files.keys()].some((path) => path.startsWith('parents/')),
      build: (draft, tree) => treeOf(draft, tree, node.files),
      locate: (path) => [path],
    })
    return true
  } catch (error) {
    if (error instanceof Refusal && error.code === 'no_changes') return false
    throw error
  }
}

async function treeOf(draft: Draft, tree: Oid | null, files: NodeFiles): Promise<Oid> {
  const before = tree === null ? [] : await listFiles(draft.repo, tree)
  const gone = before.filter(({ path }) => !files.has(path)).map(({ path }) => ({ path, blob: null }))
  const wanted = await Promise.all([...files].map(async ([path, bytes]) => ({ path, blob: await draft.blob(bytes) })))
  return applyChanges(draft, tree, [...gone, ...wanted])
}

async function missingNodes(deps: Deps, orgId: string, nodes: readonly ImportedNode[]): Promise<Imported['missing']> {
  const planned = new Set(nodes.map((node) => node.id))
  const rows = await deps.index.read
    .selectFrom('node')
    .select(['id', 'title', 'properties'])
    .where('org_id', '=', orgId)
    .execute()
  return rows.flatMap(({ id, title, properties }) => {
    const { source_path: path } = JSON.parse(properties) as Record<string, unknown> // written by follow.ts
    return typeof path === 'string' && !planned.has(id) ? [{ id, title, path }] : []
  })
}
