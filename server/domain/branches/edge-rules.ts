/** The rules of main, checked when it moves: node.json stays, and the graph is a DAG within one organisation, without new dangling edges. */
import { newPace } from '../../../gitstore/pace.ts'
import { isAncestor } from '../../../index/derived/edges.ts'
import { findNode } from '../../../index/derived/node-queries.ts'
import type { IndexDb } from '../../../index/derived/schema.ts'
import { excerpt } from '../format/excerpt.ts'
import type { NodeContent } from '../format/node-format.ts'
import type { ContentProblem } from '../format/path-problem.ts'
import { edgeFile, nodeFile } from '../format/paths.ts'

/** Problems reported per tree; more of them usually have one cause. */
const maxProblems = 100

/**
 * Problems of `after`, given `before`. Rules that are newer than some repositories apply only to content that breaks them
 * more than before.
 */
export function contentProblems(before: NodeContent, after: NodeContent): ContentProblem[] {
  const borne = new Map(before.problems.map(({ path, reason, excess }) => [`${path}\0${reason}`, excess]))
  return after.problems
    .filter(({ path, reason, excess }) => excess === undefined || excess > (borne.get(`${path}\0${reason}`) ?? -1))
    .slice(0, maxProblems)
    .map(({ path, reason }) => ({ path, reason }))
}

/**
 * What main may not lose. A repository that came from elsewhere may be without node.json, and has the title given at its
 * creation; one that has it would lose title, tags and properties.
 */
export function lossProblems(before: NodeContent, after: NodeContent): ContentProblem[] {
  const isLost = before.jsonBlob !== undefined && after.jsonBlob === undefined
  if (!isLost || after.problems.some(({ path }) => path === nodeFile)) return []
  return [{ path: nodeFile, reason: 'is removed: title, tags and properties of the node are in it' }]
}

/**
 * Problems that `after` causes in the graph, given that main is at `before`. Only new edges are checked, so that a deleted
 * neighbour never blocks a repository.
 */
export async function graphProblems(
  db: IndexDb,
  orgId: string,
  nodeId: string,
  before: NodeContent,
  after: NodeContent,
): Promise<ContentProblem[]> {
  const problems: ContentProblem[] = []
  const pace = newPace()
  for (const { id } of newParents(before, after)) {
    if (problems.length >= maxProblems) return problems
    await pace.turn()
    const path = edgeFile('parents', id)
    if (id === nodeId) problems.push({ path, reason: 'a node cannot be its own parent' })
    else if (!(await findNode(db, orgId, id)))
      problems.push({ path, reason: `there is no node ${id} in this organisation` })
    else if (await isAncestor(db, nodeId, id))
      problems.push({ path, reason: `node ${id} is a descendant of this node: a cycle` })
  }
  const known = new Map(before.connections.map((connection) => [connection.id, connection.target]))
  for (const { id, target } of after.connections) {
    if (problems.length >= maxProblems) return problems
    const path = edgeFile('connections', id)
    if (known.get(id) === target) continue
    // An index lookup costs as much as 25 tree entries.
    if (pace.isDue(25)) await pace.turn()
    if (target === nodeId) problems.push({ path, reason: 'a node cannot be connected to itself' })
    else if (!(await findNode(db, orgId, target)))
      problems.push({ path, reason: `there is no node ${excerpt(target)} in this organisation` })
  }
  return problems
}

export function newParents(before: NodeContent, after: NodeContent): NodeContent['parents'] {
  const known = new Set(before.parents.map((parent) => parent.id))
  return after.parents.filter((parent) => !known.has(parent.id))
}
