/** Checks a batch against the graph's rules: no cycle of parents, no new dangling edge. */
import { createYielder } from '../../../gitstore/yielder.ts'
import { filterNodesOf } from '../../../index/derived/changed-nodes.ts'
import type { IndexDb } from '../../../index/derived/schema.ts'
import { excerpt } from '../../base/excerpt.ts'
import { newParents } from '../branches/content-rules.ts'
import { readParentsAbove } from '../consent/places.ts'
import type { NodeContent } from '../format/node-format.ts'
import type { PathProblem } from '../format/path-problem.ts'
import { edgeFile } from '../format/paths.ts'
import { isId } from '../layout.ts'

/** A node of the batch, with its content on main before and after the change. */
export interface NodeMove {
  /** Its position in the batch. */
  readonly at: number
  readonly id: string
  readonly before: NodeContent
  readonly after: NodeContent
}

/** A problem of the node at the position `at`. */
export interface BatchProblem extends PathProblem {
  readonly at: number
}

/** The problem that closes a cycle. It belongs to the last new edge of the cycle in the batch. */
type Circle = BatchProblem

export interface GraphJudgement {
  readonly problems: readonly BatchProblem[]
  /**
   * Ids of the nodes whose parents change, each after its parents. Moves in this order never create a cycle with nodes
   * that have not moved yet.
   */
  readonly order: readonly string[]
}

/**
 * Judges the graph as it will be when all nodes have moved.
 *
 * @param coming ids that count as nodes of the organisation, although they have no row yet
 * @param leaving ids of nodes that are deleted together with the moves. No moving node may have an edge to them, and
 *   their own edges do not count. Other nodes may keep their edges to them.
 */
export async function judgeGraph(
  db: IndexDb,
  orgId: string,
  moves: readonly NodeMove[],
  coming: ReadonlySet<string>,
  leaving: ReadonlySet<string> = new Set(),
): Promise<GraphJudgement> {
  const problems: BatchProblem[] = []
  const pace = createYielder()
  const staying = moves.filter(({ id }) => !leaving.has(id))
  const there = await nodesAmong(db, orgId, staying, coming)
  for (const { at, id, before, after } of staying) {
    const judge = (path: string, target: string, isNew: boolean, self: string): void => {
      const missing = isNew && !there.has(target) && `There is no node ${excerpt(target)} in this organisation`
      const reason = (isNew && target === id && self) || (leaving.has(target) && deletedToo(target)) || missing
      if (reason) problems.push({ at, path, reason })
    }
    const [parents, connections] = [new Set(newParents(before, after)), new Set(newConnections(before, after))]
    for (const parent of after.parents)
      judge(edgeFile('parents', parent.id), parent.id, parents.has(parent), 'A node cannot be its own parent')
    for (const one of after.connections)
      judge(edgeFile('connections', one.id), one.target, connections.has(one), 'A node cannot be connected to itself')
    if (pace.shouldYield(1 + after.parents.length + after.connections.length)) await pace.yieldToEventLoop()
  }
  const { circles, order } = await orderByParents(db, staying.filter(changesParents), leaving)
  return { problems: [...problems, ...circles], order }
}

function deletedToo(id: string): string {
  return `The same proposal deletes node ${id}`
}

/** True if the move changes the node's parents. */
function changesParents({ before, after }: NodeMove): boolean {
  return newParents(before, after).length > 0 || before.parents.length !== after.parents.length
}

function newConnections(before: NodeContent, after: NodeContent): NodeContent['connections'] {
  const known = new Map(before.connections.map(({ id, target }) => [id, target]))
  return after.connections.filter(({ id, target }) => known.get(id) !== target)
}

async function nodesAmong(
  db: IndexDb,
  orgId: string,
  moves: readonly NodeMove[],
  coming: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const named = moves.flatMap(({ before, after }) => [
    ...newParents(before, after).map(({ id }) => id),
    ...newConnections(before, after).map(({ target }) => target),
  ])
  const asked = [...new Set(named)].filter((id) => isId(id) && !coming.has(id))
  const there = new Set(coming)
  for (let from = 0; from < asked.length; from += idsAtOnce)
    for (const id of await filterNodesOf(db, orgId, asked.slice(from, from + idsAtOnce))) there.add(id)
  return there
}

/** Ids per statement. */
const idsAtOnce = 500

/**
 * Walks up from the nodes of the batch, depth first. Nodes that move have their new parents, all others the parents of
 * their rows. Reports only cycles that contain a new edge.
 */
async function orderByParents(
  db: IndexDb,
  moves: readonly NodeMove[],
  leaving: ReadonlySet<string>,
): Promise<{ readonly circles: Circle[]; readonly order: string[] }> {
  const moving = new Map(moves.map((move) => [move.id, move]))
  const gone = [...leaving].map((id): [string, string[]] => [id, []])
  const known = new Map([...gone, ...moves.map(({ id, after }) => [id, after.parents.map((one) => one.id)] as const)])
  const parents = await readParentsAbove(db, [...known.values()].flat(), known)
  const fresh = new Map(
    moves.map(({ id, before, after }) => [id, new Set(newParents(before, after).map((one) => one.id))]),
  )
  const isNew = (child: string, parent: string) => child !== parent && fresh.get(child)?.has(parent) === true
  const done = new Set<string>()
  const circles: Circle[] = []
  const order: string[] = []
  const pace = createYielder()
  for (const { id: start } of moves) {
    if (done.has(start)) continue
    const path: { readonly id: string; next: number }[] = [{ id: start, next: 0 }]
    const depths = new Map([[start, 0]])
    for (let top = path.at(-1); top; top = path.at(-1)) {
      const parent = parents.get(top.id)?.[top.next++]
      if (pace.shouldYield(1)) await pace.yieldToEventLoop()
      if (parent === undefined) {
        path.pop()
        depths.delete(top.id)
        done.add(top.id)
        if (moving.has(top.id)) order.push(top.id)
      } else if (depths.has(parent)) {
        const circle = path.slice(depths.get(parent)).map(({ id }) => id)
        const edges = circle.map((child, at) => ({ child, parent: circle[at + 1] ?? parent }))
        const mine = edges.filter((edge) => isNew(edge.child, edge.parent))
        const last = mine.sort((a, b) => (moving.get(b.child)?.at ?? 0) - (moving.get(a.child)?.at ?? 0))[0]
        const move = last && moving.get(last.child)
        if (last && move) circles.push(circleOf(move, last.parent))
      } else if (!done.has(parent)) {
        depths.set(parent, path.length)
        path.push({ id: parent, next: 0 })
      }
    }
  }
  return { circles, order }
}

function circleOf({ at }: NodeMove, parent: string): Circle {
  return {
    at,
    path: edgeFile('parents', parent),
    reason: `Node ${parent} is already below this node, so this parent would create a cycle`,
  }
}
