/** Writes a planned folder as nodes. Creates new ones, commits to changed ones, and deletes removed ones. */

import { GitError, isStorageError } from '../../../../gitstore/errors.ts'
import { readCommit } from '../../../../gitstore/objects/commits.ts'
import { newObjectDraft, type ObjectDraft } from '../../../../gitstore/objects/object-batch.ts'
import { readRef } from '../../../../gitstore/refs/refs.ts'
import type { Oid, Repo } from '../../../../gitstore/repo.ts'
import { type NodeRow, readMainTrees } from '../../../../index/derived/node-queries.ts'
import { AppError, type Problem, ValidationError } from '../../../base/errors.ts'
import { authorizeOrg, type OrgAccess } from '../../../domain/access.ts'
import type { Person } from '../../../domain/actor.ts'
import { readTree } from '../../../domain/branches/revisions.ts'
import { rulesForAnyNode } from '../../../domain/consent/branch-rules.ts'
import { requireOverridable } from '../../../domain/consent/rule-checks.ts'
import type { PathProblem } from '../../../domain/format/path-problem.ts'
import { main, nodeRepo } from '../../../domain/layout.ts'
import { type BatchOutcome, writeBatch } from '../../../domain/nodes/batches.ts'
import { buildTree, type NodeFiles } from '../../../domain/nodes/node-creation.ts'
import { deleteNode } from '../../../domain/nodes/nodes.ts'
import { withKnownJson } from '../../../domain/nodes/same-json.ts'
import type { Ctx, Services } from '../../../domain/services.ts'
import type { OrgAt } from '../../../domain/targets.ts'
import type { Imported } from '../plan/summary.ts'
import { type GitHistory, NoHistoryError } from '../read/git-history.ts'
import { createWithHistory } from './history.ts'
import { type ImportedNode, importMessage, isImports, withoutEdgesTo } from './imported-nodes.ts'
import { proposeImport } from './proposals.ts'
import { judgeImport, type LineOf, wordRefusals } from './type-faults.ts'

export interface ImportInput {
  /** Parents before children. */
  readonly nodes: readonly ImportedNode[]
  /** Nodes to delete. */
  readonly removed: readonly Pick<ImportedNode, 'id' | 'path'>[]
  /** Changes nothing and returns the changes that would be made. Only refusals of types are predicted. */
  readonly dryRun?: boolean
  readonly onProgress: (done: number, total: number) => void
  /** Finds lines for refusals. */
  readonly lineOf?: LineOf
  /** Why an owner creates nodes in spite of rules that guard them. */
  readonly override?: string | undefined
  /** The title of the change sets that propose the plan. Absent: it is written directly. */
  readonly propose?: string | undefined
  /** The history of the files, for nodes that are created. */
  readonly history?: GitHistory
}

/** The outcome of each node, by id; absent if the node was refused. */
export type Statuses = ReadonlyMap<string, BatchOutcome['status']>

/**
 * Makes each node's main equal to the plan, then moves removed nodes to the trash.
 *
 * Previous content stays in the history. A refused node is reported as a problem. Other nodes are still written,
 * without their edges to it. A repeated import completes an interrupted one.
 *
 * @throws AppError org_not_found, forbidden; GitError storage_*, DatabaseError, the reason of `deps.draining`
 */
export async function applyImport(ctx: Ctx<Person>, at: OrgAt, input: ImportInput): Promise<Imported> {
  const { org_id: orgId } = at
  const { nodes, removed, dryRun = false, onProgress } = input
  const need = input.propose !== undefined ? 'contributor' : removed.length > 0 ? 'maintainer' : 'editor'
  const access = await authorizeOrg(ctx, at, need)
  if (input.override !== undefined) requireOverridable(ctx.actor, access, input.override, ['override'])
  const problems: PathProblem[] = []
  const steps = nodes.length + removed.length
  const { statuses, edited, changed } = await compare(ctx, orgId, nodes)
  const judged = await judgeImport(ctx, orgId, nodes, changed, (id) => statuses.get(id) === 'created')
  if (dryRun) {
    for (const id of judged.strict.keys()) statuses.delete(id)
    problems.push(...(await wordRefusals(nodes, judged.strict, input.lineOf)))
  } else if (input.propose !== undefined) {
    problems.push(...(await wordRefusals(nodes, judged.strict, input.lineOf)))
    return proposeAll(ctx, at, input, {
      title: input.propose,
      statuses,
      edited,
      changed,
      problems,
      strict: judged.strict,
    })
  } else {
    const before = nodes.length - changed.length
    const fresh = changed.filter(({ id }) => statuses.get(id) === 'created' && !judged.strict.has(id))
    const born = await createFrom(input.history, { deps: ctx, actor: ctx.actor, access, nodes: fresh, problems })
    const written = await write(ctx, at, {
      ...{ nodes: changed, problems, lineOf: input.lineOf, override: input.override },
      onProgress: (done) => onProgress(before + done, steps),
    })
    for (const { id } of changed) statuses.delete(id)
    for (const [id, status] of written) statuses.set(id, born.has(id) ? 'created' : status)
  }
  const gone: string[] = []
  for (const [n, { id, path }] of removed.entries()) {
    ctx.draining.throwIfAborted()
    try {
      if (!dryRun) await deleteNode(ctx, { path: { org_id: orgId, node_id: id } })
      gone.push(path)
    } catch (error) {
      problems.push({ path, reason: reasonOf(error) })
    }
    onProgress(nodes.length + n + 1, steps)
  }
  return {
    ...toSummaryNames(nodes, statuses, edited),
    removed: gone,
    problems,
    ...(judged.advice && { notes: [judged.advice] }),
  }
}

interface Compared {
  readonly title: string
  readonly statuses: Map<string, BatchOutcome['status']>
  readonly edited: ReadonlySet<string>
  readonly changed: readonly ImportedNode[]
  readonly problems: PathProblem[]
  /** The nodes that strict types refuse. */
  readonly strict: ReadonlyMap<string, unknown>
}

/** Proposes the changes instead of writing them. */
async function proposeAll(
  ctx: Ctx<Person>,
  at: OrgAt,
  { nodes, removed, onProgress }: ImportInput,
  { title, statuses, edited, changed, problems, strict }: Compared,
): Promise<Imported> {
  const isNew = (id: string) => statuses.get(id) === 'created'
  const lost = new Set([...strict.keys()].filter(isNew))
  const left = changed.filter(({ id }) => !strict.has(id))
  const fitted = left.map((node) => ({ ...node, files: withoutEdgesTo(lost, node.files) }))
  const { proposals, refused, known, cut } = await proposeImport(ctx, at, {
    ...{ nodes: fitted, removed, isNew, title },
    onProgress: (done) => onProgress(nodes.length - changed.length + done, nodes.length + removed.length),
  })
  for (const { id, path } of [...left, ...removed]) {
    const reason = refused.get(id)
    if (reason !== undefined) problems.push({ path, reason })
  }
  for (const id of [...strict.keys(), ...refused.keys()]) statuses.delete(id)
  for (const id of known) statuses.set(id, 'unchanged')
  const later = `edges to new nodes of later proposals are left out: ${cut}. Import again when those are merged`
  return {
    ...toSummaryNames(nodes, statuses, edited),
    removed: removed.flatMap(({ id, path }) => (refused.has(id) ? [] : path)),
    problems,
    proposals,
    ...(cut > 0 && { notes: [later] }),
  }
}

interface Creating {
  readonly deps: Services
  readonly actor: Person
  readonly access: OrgAccess
  readonly nodes: readonly ImportedNode[]
  readonly problems: PathProblem[]
}

/** Creates the nodes that have a history. Returns their ids. The import then writes what the history lacks. */
async function createFrom(
  history: GitHistory | undefined,
  { deps, actor, access, nodes, problems }: Creating,
): Promise<ReadonlySet<string>> {
  const born = new Set<string>()
  if (history === undefined) return born
  if ((await rulesForAnyNode(deps, access.org, 'main')).length > 0)
    throw new NoHistoryError(
      'In this organisation, main changes only by pull requests, so the history cannot be imported; switch the rules of main off during the import',
    )
  for (const node of nodes) {
    deps.draining.throwIfAborted()
    try {
      const imported = await createWithHistory({ ...deps, actor }, access, node, history)
      const all = history.counts.get(node.path) ?? 0
      if (imported > 0) born.add(node.id)
      if (imported < all)
        problems.push({ path: node.path, reason: `only the latest ${imported} of its ${all} commits are imported` })
    } catch (error) {
      // The import writes the node without history, or reports why it cannot.
      problems.push({ path: node.path, reason: `imported without its history: ${reasonOf(error)}` })
    }
  }
  return born
}

/** Groups the paths of the nodes by outcome. */
export function toSummaryNames(
  nodes: readonly ImportedNode[],
  statuses: Statuses,
  edited: ReadonlySet<string>,
): Omit<Imported, 'removed' | 'problems'> {
  const pathsOf = (take: (node: ImportedNode) => boolean) => nodes.filter(take).map(({ path }) => path)
  const isMoved = ({ movedFrom }: ImportedNode) => movedFrom !== undefined
  return {
    created: pathsOf(({ id }) => statuses.get(id) === 'created'),
    updated: pathsOf((node) => statuses.get(node.id) === 'updated' && !isMoved(node)),
    renamed: pathsOf((node) => statuses.get(node.id) === 'updated' && isMoved(node)),
    unchanged: [...statuses.values()].filter((status) => status === 'unchanged').length,
    edited: pathsOf(({ id }) => statuses.get(id) === 'updated' && edited.has(id)),
  }
}

interface Writing {
  readonly nodes: readonly ImportedNode[]
  readonly problems: PathProblem[]
  readonly lineOf: LineOf | undefined
  readonly override: string | undefined
  readonly onProgress: (done: number) => void
}

/** Writes the nodes. Starts again if another import creates one of them in the meantime. */
async function write(ctx: Ctx<Person>, at: OrgAt, writing: Writing): Promise<Statuses> {
  for (let attempt = 1; ; attempt++) {
    try {
      const problems: PathProblem[] = []
      const statuses = await writeOnce(ctx, at, { ...writing, problems })
      for (const problem of problems) writing.problems.push(problem)
      return statuses
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'node_exists' || attempt === maxAttempts) throw error
    }
  }
}

/** Largest number of attempts. Each one fails only because of another import. */
const maxAttempts = 5

async function writeOnce(
  ctx: Ctx<Person>,
  at: OrgAt,
  { nodes, problems, lineOf, override, onProgress }: Writing,
): Promise<Statuses> {
  const files = nodes.map((node) => node.files)
  const items = nodes.map((node, position) => ({
    id: node.id,
    title: node.title,
    message: importMessage(node),
    build: (draft: ObjectDraft, before: Oid | null) => buildTree(draft, before, files[position] ?? node.files),
  }))
  const fewer = new Map<number, number>()
  const refused = new Map<string, readonly Problem[]>()
  const outcomes = await writeBatch(ctx, at, items, {
    existing: 'update',
    ...(override !== undefined && { override }),
    locate: (_, path) => [path],
    refused: (position, found) => {
      fewer.delete(position)
      refused.set(nodes[position]?.id ?? '', found)
    },
    without: (position, lost) => {
      const whole = nodes[position]?.files ?? new Map()
      const kept = withoutEdgesTo(lost, whole)
      files[position] = kept
      fewer.set(position, whole.size - kept.size)
    },
    onProgress,
  })
  problems.push(...(await wordRefusals(nodes, refused, lineOf)))
  for (const [position, count] of fewer) problems.push({ path: nodes[position]?.path ?? '', reason: lostEdges(count) })
  return new Map(outcomes.map(({ id, status }) => [id, status]))
}

/** Returns the problem of a node that was written without some of its edges. */
export function lostEdges(count: number): string {
  return `edges left out, because their targets could not be written: ${count}`
}

/**
 * Predicts the changes of `write`, except refusals.
 *
 * The index has the tree of main, so an unchanged node costs only a hash of its files and a read of the ref.
 */
async function compare(
  deps: Services,
  orgId: string,
  nodes: readonly ImportedNode[],
): Promise<{ statuses: Map<string, BatchOutcome['status']>; edited: Set<string>; changed: ImportedNode[] }> {
  const known = await readMainTrees(deps.index.read, orgId)
  const statuses = new Map<string, BatchOutcome['status']>()
  const edited = new Set<string>()
  const changed: ImportedNode[] = []
  for (const node of nodes) {
    deps.draining.throwIfAborted()
    const { id } = node
    const row = known.get(id)
    const repo = nodeRepo(deps.store, orgId, id)
    const files = row ? await filesToWrite(repo, row, node.files) : node.files
    if (files === undefined) statuses.set(id, 'unchanged')
    else {
      statuses.set(id, row ? 'updated' : 'created')
      changed.push({ ...node, files })
      if (row && (await isEdited(repo))) edited.add(id)
    }
  }
  return { statuses, edited, changed }
}

/** True if the head of main is not a commit of an import. False if it cannot be read. */
async function isEdited(repo: Repo): Promise<boolean> {
  try {
    const head = readRef(repo, main)
    return head !== null && !isImports((await readCommit(repo, head)).message)
  } catch (error) {
    if (error instanceof GitError && !isStorageError(error)) return false
    throw error
  }
}

/**
 * Returns the files to write to main; undefined if main already has them.
 *
 * JSON with equal content keeps its bytes. If main cannot be read, all files are returned, and the write reports the
 * fault.
 */
async function filesToWrite(
  repo: Repo,
  row: Pick<NodeRow, 'head' | 'tree' | 'title'>,
  files: NodeFiles,
): Promise<NodeFiles | undefined> {
  try {
    const head = readRef(repo, main)
    if (head === null) return files
    const tree = (head === row.head ? row.tree : null) ?? (await readTree(repo, head))
    const isThere = async (some: NodeFiles) => (await buildTree(newObjectDraft(repo, new Map()), null, some)) === tree
    if (await isThere(files)) return undefined
    const kept = await withKnownJson(repo, { tree, title: row.title }, files)
    return (await isThere(kept)) ? undefined : kept
  } catch (error) {
    if (error instanceof GitError && !isStorageError(error)) return files
    throw error
  }
}

/** Returns the reason of a refusal. @throws errors that concern more than this node; they end the import */
function reasonOf(error: unknown): string {
  if (error instanceof ValidationError) return error.problems.map((problem) => problem.msg).join('; ')
  if (error instanceof AppError) return error.message
  if (error instanceof GitError && !isStorageError(error)) return error.message
  throw error
}
