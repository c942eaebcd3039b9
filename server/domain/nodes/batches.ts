/** Writes several nodes at once: judges all of them together, creates the new ones in one go, commits to the others. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import pLimit from 'p-limit'
import { allDone } from '../../../gitstore/durable.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Deps } from '../../base/deps.ts'
import { Invalid, type Problem, Refusal } from '../../base/errors.ts'
import { orgFor } from '../access.ts'
import type { Person } from '../actor.ts'
import type { OrgAt } from '../at.ts'
import { commitToBranch, problemOf, refuseDirectMove } from '../branches/branch-moves.ts'
import { newParents } from '../branches/edge-rules.ts'
import { knownBranch } from '../branches/revisions.ts'
import { main } from '../layout.ts'
import { createAll } from './batch-creation.ts'
import { type BatchProblem, judgeGraph } from './batch-graph.ts'
import { type Batch, type Built, buildIfSound, type Item, itemsOf, leaveOut } from './batch-items.ts'
import type { BatchNode, BatchOptions, BatchOutcome } from './batch-node.ts'

/** Nodes, and bytes of their objects, that are written together and judged together. */
const nodesAtOnce = 1_000
const bytesAtOnce = 64 * 1_048_576
/** Commits at a time; those that change parents are made one after the other. */
const commitsAtOnce = 4
/** Problems of one answer. */
const maxProblems = 100

/**
 * Makes main of each node what its item builds, and returns what became of them, in their order; those that `refused` was called with
 * are missing. Up to 1,000 nodes are judged together before anything is written: all or nothing, but for a crash, or a change by
 * others meanwhile, between two commits. More are written in such slices, the new ones first: an edge may lead to a node of a
 * later slice. A repeated call completes an interrupted one, with `existing: 'update'`.
 *
 * @throws Refusal as orgFor, node_exists, pull_request_required; Invalid: rules that items break; GitError storage_*, busy; the
 *   reason of `deps.draining`, between two slices
 */
export async function writeBatch(
  deps: Deps,
  actor: Person,
  at: OrgAt,
  nodes: readonly BatchNode[],
  options: BatchOptions,
): Promise<BatchOutcome[]> {
  const access = await orgFor(deps, actor, at, 'editor')
  const outcomes = new Map<string, BatchOutcome>()
  const batch: Batch = { deps, actor, access, options, coming: new Set(), lost: new Set(), outcomes }
  const items = await itemsOf(batch, nodes)
  for (const { node, existing } of items) if (!existing) batch.coming.add(node.id)
  for (let from = 0; from < items.length; ) {
    if (from > 0) deps.draining.throwIfAborted()
    const slice = await buildSlice(batch, items, from)
    await writeSlice(batch, slice.built)
    from = slice.end
    options.onProgress?.(from, items.length)
  }
  return nodes.flatMap(({ id }) => outcomes.get(id) ?? [])
}

async function buildSlice(
  batch: Batch,
  items: readonly Item[],
  from: number,
): Promise<{ readonly built: Built[]; readonly end: number }> {
  const built: Built[] = []
  let bytes = 0
  let end = from
  for (; end < items.length && built.length < nodesAtOnce && bytes < bytesAtOnce; end++) {
    const item = items[end]
    const one = item && (await buildIfSound(batch, item))
    if (one) built.push(one)
    for (const { content } of one?.objects.values() ?? []) bytes += content.length
    await nextTurn()
  }
  return { built, end }
}

async function writeSlice(batch: Batch, all: readonly Built[]): Promise<void> {
  const { deps, access, options, outcomes } = batch
  const { built, order } = await judge(batch, all)
  const changed = built.filter(({ isSame }) => !isSame)
  const updated = changed.filter(({ existing }) => existing !== undefined)
  if (access.org.require_pull_requests && !options.refused && updated.some(({ head }) => head !== null))
    refuseDirectMove()
  for (const { node, head, isSame } of built)
    if (isSame && head !== null) outcomes.set(node.id, { id: node.id, head, status: 'unchanged' })
  await create(
    batch,
    changed.filter(({ existing }) => existing === undefined),
  )
  const inOrder = new Map(order.map((id, at) => [id, at]))
  const parenting = updated.filter(({ node }) => inOrder.has(node.id))
  for (const one of parenting.sort((a, b) => (inOrder.get(a.node.id) ?? 0) - (inOrder.get(b.node.id) ?? 0)))
    await update(batch, one)
  const turn = pLimit(commitsAtOnce)
  const others = updated.filter(({ node }) => !inOrder.has(node.id))
  await allDone(others.map((one) => turn(() => update(batch, one))))
  deps.log.debug({ orgId: access.org.id, nodes: all.length, changed: changed.length }, 'a batch was written')
}

/** Leaves out the items that break a rule, until no item breaks one. @throws Invalid if there is no `refused` */
async function judge(
  batch: Batch,
  all: readonly Built[],
): Promise<{ built: readonly Built[]; order: readonly string[] }> {
  const { deps, access, options, coming, lost } = batch
  for (let built = await withoutLost(batch, all); ; ) {
    const moves = built.map(({ move }) => move)
    const { problems, order } = await judgeGraph(deps.index.read, access.org.id, moves, coming)
    const found = new Map<number, Problem[]>()
    for (const { at, problems: own } of built) if (own.length > 0) found.set(at, [...own])
    for (const problem of problems)
      found.set(problem.at, [
        ...(found.get(problem.at) ?? []),
        problemOf(options.locate(problem.at, problem.path), problem),
      ])
    if (found.size === 0) return { built, order }
    if (!options.refused) throw new Invalid([...found.values()].flat().slice(0, maxProblems))
    for (const { at, node } of built)
      if (found.has(at)) {
        coming.delete(node.id)
        lost.add(node.id)
      }
    for (const [at, own] of found) options.refused(at, own)
    built = await withoutLost(
      batch,
      built.filter(({ at }) => !found.has(at)),
    )
  }
}

/** Builds those again that have edges to items that were left out. */
async function withoutLost(batch: Batch, built: readonly Built[]): Promise<readonly Built[]> {
  const { options, lost } = batch
  if (!options.without || lost.size === 0) return built
  const kept: Built[] = []
  for (const one of built) {
    const { parents, connections } = one.move.after
    const leads = parents.some(({ id }) => lost.has(id)) || connections.some(({ target }) => lost.has(target))
    if (leads) options.without(one.at, lost)
    const again = leads ? await buildIfSound(batch, one) : one
    if (again) kept.push(again)
  }
  return kept
}

async function create(batch: Batch, built: readonly Built[]): Promise<void> {
  if (built.length === 0) return
  const { deps, actor, access, options, coming, outcomes } = batch
  const moves = built.map(({ move }) => move)
  const nodes = built.map((one) => ({ ...one, hasParents: one.move.after.parents.length > 0 }))
  const heads = await createAll(deps, actor, access.org.id, nodes, async () => {
    const { problems } = await judgeGraph(deps.index.read, access.org.id, moves, coming)
    refuse(options, problems)
  })
  for (const [id, head] of heads) outcomes.set(id, { id, head, status: 'created' })
}

function refuse({ locate }: BatchOptions, problems: readonly BatchProblem[]): void {
  if (problems.length > 0)
    throw new Invalid(
      problems.slice(0, maxProblems).map((problem) => problemOf(locate(problem.at, problem.path), problem)),
    )
}

async function update(batch: Batch, { at, node, existing, head, move }: Built): Promise<void> {
  if (!existing) return
  const { deps, actor, options, outcomes } = batch
  const { id } = node
  try {
    const commit = await commitToBranch(deps, actor, existing, {
      branch: knownBranch('main'),
      message: node.changeMessage ?? node.message,
      expectedHead: head === null ? null : undefined,
      addsParents: newParents(move.before, move.after).length > 0,
      build: node.build,
      locate: (path) => options.locate(at, path),
    })
    outcomes.set(id, { id, head: commit, status: 'updated' })
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'no_changes') {
      leaveOut(batch, at, id, error)
      return
    }
    outcomes.set(id, { id, head: readRef(existing.repo, main) ?? '', status: 'unchanged' })
  }
}
