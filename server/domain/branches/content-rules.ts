/**
 * The rules of content, checked when a branch moves. On main, node.json must stay, and the graph must be a DAG within
 * one organisation, without new dangling edges. Names that are equal on case-insensitive file systems are refused if
 * one of them is new, and accepted if both exist already.
 */

import { findCaseCollision } from '../../../gitstore/names.ts'
import { readTree, type TreeEntry } from '../../../gitstore/objects/trees.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { createYielder, entriesPerTurn, type Yielder } from '../../../gitstore/yielder.ts'
import { isAncestor } from '../../../index/derived/edges.ts'
import { findNode } from '../../../index/derived/node-queries.ts'
import type { IndexDb } from '../../../index/derived/schema.ts'
import { wholeOrg } from '../../../index/derived/sees.ts'
import { excerpt } from '../../base/excerpt.ts'
import type { NodeContent } from '../format/node-format.ts'
import type { ContentProblem } from '../format/path-problem.ts'
import { edgeFile, nodeFile } from '../format/paths.ts'

/** The most problems reported per tree; more of them usually have one cause. */
const maxProblems = 100

/**
 * Problems of `after`, given `before`. Rules that are newer than some repositories apply only to content that breaks
 * them more than it did before.
 */
export function findContentProblems(before: NodeContent, after: NodeContent): ContentProblem[] {
  const borne = new Map(before.problems.map(({ path, reason, excess }) => [`${path}\0${reason}`, excess]))
  return after.problems
    .filter(({ path, reason, excess }) => excess === undefined || excess > (borne.get(`${path}\0${reason}`) ?? -1))
    .slice(0, maxProblems)
    .map(({ path, reason }) => ({ path, reason }))
}

/**
 * Reports that node.json was removed from main, which would lose title, tags and properties. A repository that came
 * from elsewhere may be without node.json: its title is the one given at its creation.
 */
export function findLossProblems(before: NodeContent, after: NodeContent): ContentProblem[] {
  const isLost = before.jsonBlob !== undefined && after.jsonBlob === undefined
  if (!isLost || after.problems.some(({ path }) => path === nodeFile)) return []
  return [
    { path: nodeFile, reason: "This file cannot be deleted, because it holds the node's title, tags and properties" },
  ]
}

/**
 * Problems that `after` causes in the graph, given that main is at `before`. Only new edges are checked, so that a
 * deleted neighbour never blocks a repository.
 */
export async function findGraphProblems(
  db: IndexDb,
  orgId: string,
  nodeId: string,
  before: NodeContent,
  after: NodeContent,
): Promise<ContentProblem[]> {
  const problems: ContentProblem[] = []
  const all = wholeOrg(orgId)
  const pace = createYielder()
  for (const { id } of newParents(before, after)) {
    if (problems.length >= maxProblems) return problems
    await pace.yieldToEventLoop()
    const path = edgeFile('parents', id)
    if (id === nodeId) problems.push({ path, reason: 'A node cannot be its own parent' })
    else if (!(await findNode(db, all, id)))
      problems.push({ path, reason: `There is no node ${id} in this organisation` })
    else if (await isAncestor(db, nodeId, id))
      problems.push({ path, reason: `Node ${id} is already below this node, so this parent would create a cycle` })
  }
  const known = new Map(before.connections.map((connection) => [connection.id, connection.target]))
  for (const { id, target } of after.connections) {
    if (problems.length >= maxProblems) return problems
    const path = edgeFile('connections', id)
    if (known.get(id) === target) continue
    // An index lookup costs as much as 25 tree entries.
    if (pace.shouldYield(25)) await pace.yieldToEventLoop()
    if (target === nodeId) problems.push({ path, reason: 'A node cannot be connected to itself' })
    else if (!(await findNode(db, all, target)))
      problems.push({ path, reason: `There is no node ${excerpt(target)} in this organisation` })
  }
  return problems
}

export function newParents(before: NodeContent, after: NodeContent): NodeContent['parents'] {
  const known = new Set(before.parents.map((parent) => parent.id))
  return after.parents.filter((parent) => !known.has(parent.id))
}

export interface Collision {
  /** The full path of the second name. */
  readonly path: string
  /** The two names, without their folder. */
  readonly names: readonly [string, string]
}

/** Folders by name. */
interface Folders extends Map<string, Folders> {}

/**
 * Finds colliding names along `paths` that `after` has and `before` (null: nothing) has not. Returns at most one pair
 * per folder, and reads each folder once.
 */
export async function findCollisions(
  repo: Repo,
  before: Oid | null,
  after: Oid,
  paths: readonly string[],
): Promise<Collision[]> {
  if (paths.length === 0) return []
  const collisions: Collision[] = []
  const pace = createYielder()
  await visit(await foldersOf(paths, pace), '', before, after)
  return collisions

  async function visit(below: Folders, prefix: string, before: Oid | null, after: Oid): Promise<void> {
    const entries = await readTree(repo, after, pace)
    const known = new Map((before === null ? [] : await readTree(repo, before, pace)).map((one) => [one.name, one]))
    const fresh = new Set(entries.filter(({ name }) => !known.has(name)).map(({ name }) => name))
    const pair = fresh.size === 0 ? undefined : await collisionIn(entries, fresh, pace)
    if (pair) collisions.push({ path: prefix + pair[1], names: pair })
    if (below.size === 0) return
    for (const { name, mode, oid } of entries) {
      const folders = mode === '040000' ? below.get(name) : undefined
      if (!folders) continue
      const old = known.get(name)
      await visit(folders, `${prefix}${name}/`, old?.mode === '040000' ? old.oid : null, oid)
      if (pace.shouldYield(1)) await pace.yieldToEventLoop()
    }
  }
}

async function collisionIn(entries: readonly TreeEntry[], fresh: ReadonlySet<string>, pace: Yielder) {
  const taken = new Map<string, string>()
  for (let at = 0; at < entries.length; at += entriesPerTurn) {
    const names = entries.slice(at, at + entriesPerTurn).map(({ name }) => name)
    const pair = findCaseCollision(names, fresh, taken)
    if (pair) return pair
    if (pace.shouldYield(names.length)) await pace.yieldToEventLoop()
  }
  return undefined
}

/** The folders along `paths`. */
async function foldersOf(paths: readonly string[], pace: Yielder): Promise<Folders> {
  const root: Folders = new Map()
  for (const path of paths) {
    let folders = root
    for (const name of path.split('/').slice(0, -1)) {
      const below: Folders = folders.get(name) ?? new Map()
      folders.set(name, below)
      folders = below
    }
    if (pace.shouldYield(1)) await pace.yieldToEventLoop()
  }
  return root
}
