/** Describes what a move of main changed in a node. */

import { readCommit } from '../../../gitstore/objects/commits.ts'
import { readTree } from '../../../gitstore/objects/trees.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { type NodeContent, readContent } from '../format/node-format.ts'
import { isReserved } from '../format/paths.ts'

/** An edge as events show it. */
export interface EventEdge {
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

/** True if the roots differ in an entry that is not text, edge or node.json. */
async function hasOtherFiles(repo: Repo, from: Oid | null, to: Oid | null): Promise<boolean> {
  if (from === to) return false
  const [before, after] = [await othersIn(repo, from), await othersIn(repo, to)]
  if (before.size !== after.size) return true
  for (const [name, oid] of after) if (before.get(name) !== oid) return true
  return false
}

async function othersIn(repo: Repo, tree: Oid | null): Promise<Map<string, Oid>> {
  const entries = tree === null ? [] : await readTree(repo, tree)
  return new Map(entries.filter(({ name }) => !isReserved(name)).map(({ name, oid }) => [name, oid]))
}
