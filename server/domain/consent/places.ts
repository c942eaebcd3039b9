/**
 * The rules of `main` that guard pages at their places. A page has two: where it is now, and where its change puts it.
 * A rule for a part of the graph guards a page that is in that part at one of both.
 */
import { readCommit } from '../../../gitstore/objects/commits.ts'
import type { Oid } from '../../../gitstore/repo.ts'
import { createYielder } from '../../../gitstore/yielder.ts'
import { readParentsOf } from '../../../index/derived/edges.ts'
import type { OrgRow } from '../../../index/derived/org-queries.ts'
import type { IndexDb } from '../../../index/derived/schema.ts'
import type { NodeAccess } from '../access.ts'
import { readContent } from '../format/node-format.ts'
import type { Services } from '../services.ts'
import { rulesForAnyNode, rulesOfBranch } from './branch-rules.ts'
import type { HeldRule } from './judge.ts'

/** A page that a request changes. Its first commit creates it. */
export interface PlacedPage {
  readonly id: string
  readonly act: 'create' | 'change' | 'delete' | 'restore'
  /** The parents that it has after the change. A deleted page has none. */
  readonly parents: readonly string[]
}

const unguarded: ReadonlyMap<string, readonly HeldRule[]> = new Map()

/**
 * Returns the rules of `main` that guard each page, by its id. Pages of one request can be parents of each other, also
 * those without a row. An organisation without rules takes no statement.
 */
export async function rulesAtPlaces(
  deps: Services,
  org: OrgRow,
  pages: readonly PlacedPage[],
): Promise<ReadonlyMap<string, readonly HeldRule[]>> {
  const rules = await rulesForAnyNode(deps, org, 'main')
  if (rules.length === 0) return unguarded
  const unders = new Set(rules.flatMap(({ rule }) => rule.under ?? []))
  const parts = unders.size === 0 ? undefined : await readParts(deps.index.read, unders, pages)
  const guards = ({ rule: { under, pages: which } }: HeldRule, { id, act }: PlacedPage): boolean => {
    const part = under === undefined ? everywhere : parts?.get(under)
    if (which === 'existing' && act !== 'change') return false
    return part?.before.has(id) === true || (which === 'all' && part?.after.has(id) === true)
  }
  return new Map(pages.map((page) => [page.id, rules.filter((rule) => guards(rule, page))]))
}

/** The heads of a branch before and after a move. */
export interface Heads {
  readonly from: Oid | null
  readonly to: Oid | null
}

/**
 * Returns the rules that a move of a branch to a head must satisfy. For `main`, they are those of both places of the
 * page. A pull request that moves a page needs the consent of the place that it comes to.
 *
 * @param heads `from` is null if the branch has no commit yet, and `to` if it is to be deleted
 */
export async function rulesOfMove(
  deps: Services,
  { node, repo }: Pick<NodeAccess, 'node' | 'repo'>,
  org: OrgRow,
  branch: string,
  { from, to }: Heads,
): Promise<readonly HeldRule[]> {
  if (branch !== 'main' || to === null) return rulesOfBranch(deps, org, node.id, branch)
  const rules = await rulesForAnyNode(deps, org, branch)
  const isPlaced = rules.some(({ rule }) => rule.under !== undefined && rule.pages === 'all')
  const content = isPlaced ? await readContent(repo, (await readCommit(repo, to)).tree) : undefined
  const parents = content?.parents.map(({ id }) => id) ?? []
  const act = from === null ? 'create' : 'change'
  return (await rulesAtPlaces(deps, org, [{ id: node.id, act, parents }])).get(node.id) ?? []
}

/** The nodes that are in a part of the graph, before and after a change. */
interface Part {
  readonly before: Pick<ReadonlySet<string>, 'has'>
  readonly after: Pick<ReadonlySet<string>, 'has'>
}

const everywhere: Part = { before: { has: () => true }, after: { has: () => true } }

/** Finds the pages that are each of these nodes or below it. Nodes above the pages are found too. */
async function readParts(
  db: IndexDb,
  unders: ReadonlySet<string>,
  pages: readonly PlacedPage[],
): Promise<ReadonlyMap<string, Part>> {
  const rows = await readParentsAbove(
    db,
    pages.flatMap(({ id, parents }) => [id, ...parents]),
  )
  const changed = new Map([...rows, ...pages.map(({ id, parents }) => [id, parents] as const)])
  const [before, after] = [childrenOf(rows), childrenOf(changed)]
  const parts = new Map<string, Part>()
  const pace = createYielder()
  for (const under of unders) {
    parts.set(under, { before: nodesFrom(before, under), after: nodesFrom(after, under) })
    if (pace.shouldYield(2 * changed.size)) await pace.yieldToEventLoop()
  }
  return parts
}

/**
 * Reads the parents of these nodes, and of all nodes above them. Goes by rows, except for the nodes that `known` has.
 * The result has these too.
 */
export async function readParentsAbove(
  db: IndexDb,
  nodeIds: readonly string[],
  known: ReadonlyMap<string, readonly string[]> = new Map(),
): Promise<ReadonlyMap<string, readonly string[]>> {
  const parents = new Map(known)
  const pace = createYielder()
  const unknownOf = (ids: readonly string[]) => new Set(ids.filter((id) => !parents.has(id)))
  for (let unknown = unknownOf(nodeIds); unknown.size > 0; ) {
    const read = await readParentsOf(db, [...unknown])
    for (const [id, above] of read) parents.set(id, above)
    unknown = unknownOf([...read.values()].flat())
    if (pace.shouldYield(25 * read.size)) await pace.yieldToEventLoop()
  }
  return parents
}

function childrenOf(parents: ReadonlyMap<string, readonly string[]>): ReadonlyMap<string, readonly string[]> {
  const children = new Map<string, string[]>()
  for (const [child, above] of parents)
    for (const parent of above) {
      const known = children.get(parent)
      if (known) known.push(child)
      else children.set(parent, [child])
    }
  return children
}

/** Returns the node and all nodes below it. */
function nodesFrom(children: ReadonlyMap<string, readonly string[]>, top: string): ReadonlySet<string> {
  const found = new Set([top])
  // The loop also reaches what it adds.
  for (const id of found) for (const child of children.get(id) ?? []) found.add(child)
  return found
}
