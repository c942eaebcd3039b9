/** Describes what a move of main changed in a node. */

import { isGitError } from '../../../gitstore/errors.ts'
import { readCommit } from '../../../gitstore/objects/commits.ts'
import { diffTrees } from '../../../gitstore/objects/diff.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { type NodeContent, readContent } from '../format/node-format.ts'
import { edgeIdAt, nodeFile, readmeFile, textFile } from '../format/paths.ts'

/** An edge as events show it. */
interface EventEdge {
  readonly edge_type: 'parent_child' | 'connection'
  /** The parent, or the target of a connection. */
  readonly node_id: string
  readonly connection_type?: string
}

export interface ContentChange {
  /** The parts of the node that differ: title, tags, properties, text, files, edges. */
  readonly changed: readonly string[]
  readonly edges_added: readonly EventEdge[]
  readonly edges_removed: readonly EventEdge[]
}

/** The most files that are compared. With more, all parts count as changed. */
const most = { entries: 20_000, characters: 2_000_000 }

/** Compares two heads of main. Null: there is no commit. */
export async function contentChange(repo: Repo, before: Oid | null, after: Oid | null): Promise<ContentChange> {
  const [from, to] = [await treeOf(repo, before), await treeOf(repo, after)]
  const [old, now] = [await readContent(repo, from), await readContent(repo, to)]
  const [oldEdges, newEdges] = [edgesOf(old), edgesOf(now)]
  const edges_added = [...newEdges].filter(([key]) => !oldEdges.has(key)).map(([, edge]) => edge)
  const edges_removed = [...oldEdges].filter(([key]) => !newEdges.has(key)).map(([, edge]) => edge)
  const changed = [
    ...(old.title === now.title ? [] : ['title']),
    ...(isSame(old.tags, now.tags) ? [] : ['tags']),
    ...(isSame(old.properties, now.properties) ? [] : ['properties']),
    ...(old.textBlob === now.textBlob ? [] : ['text']),
    ...((await hasOtherFiles(repo, from, to)) ? ['files'] : []),
    ...(edges_added.length + edges_removed.length > 0 ? ['edges'] : []),
  ]
  return { changed, edges_added, edges_removed }
}

async function treeOf(repo: Repo, head: Oid | null): Promise<Oid | null> {
  return head === null ? null : (await readCommit(repo, head)).tree
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

function edgesOf({ parents, connections }: NodeContent): Map<string, EventEdge> {
  return new Map([
    ...parents.map(({ id }): [string, EventEdge] => [`parent ${id}`, { edge_type: 'parent_child', node_id: id }]),
    ...connections.map(({ target, type }): [string, EventEdge] => [
      `${type} ${target}`,
      { edge_type: 'connection', node_id: target, connection_type: type },
    ]),
  ])
}

/** True if a file differs that is neither the text nor an edge nor node.json. */
async function hasOtherFiles(repo: Repo, from: Oid | null, to: Oid | null): Promise<boolean> {
  const isOther = (path: string) =>
    path !== nodeFile &&
    path !== textFile &&
    path !== readmeFile &&
    edgeIdAt('parents', path) === undefined &&
    edgeIdAt('connections', path) === undefined
  try {
    return (await diffTrees(repo, from, to, undefined, most)).some(({ path }) => isOther(path))
  } catch (error) {
    if (isGitError(error, 'limit_exceeded')) return true
    throw error
  }
}
