/**
 * The batch operations of REST, which create or update up to 1,000 nodes together. Resolves the refs of items, builds
 * their trees, and reports problems at their place in the body, with names that the sender knows.
 */

import { v7 as newId } from 'uuid'
import type { ObjectDraft } from '../../../gitstore/objects/object-batch.ts'
import { applyChanges, type PathChange } from '../../../gitstore/objects/tree-changes.ts'
import { listFiles } from '../../../gitstore/objects/trees.ts'
import type { Oid } from '../../../gitstore/repo.ts'
import { createYielder } from '../../../gitstore/yielder.ts'
import { invalid, type Problem, ValidationError } from '../../base/errors.ts'
import { excerpt } from '../../base/excerpt.ts'
import * as limits from '../../base/limits.ts'
import { authorizeOrg } from '../access.ts'
import { callerOf, type Person } from '../actor.ts'
import { applyFileChanges, type Change, type FileChange, fileChanges } from '../branches/commit-changes.ts'
import { requireKnownType } from '../branches/type-rules.ts'
import { createCallerSemaphore } from '../caller-semaphore.ts'
import { placesOf } from '../format/json-text.ts'
import { connectionJson, requireTitle, textBytes } from '../format/node-files.ts'
import { type ConnectionEntity, readContent } from '../format/node-format.ts'
import { type EdgeFolderName, edgeFile, edgeIdAt, nodeFile, textFile } from '../format/paths.ts'
import { asJson } from '../format/signatures.ts'
import { refuseOwnVia } from '../format/trailers.ts'
import { canonicalId, isId } from '../layout.ts'
import type { RequestCtx, Services } from '../services.ts'
import type { Body, OrgAt, Path } from '../targets.ts'
import { type BatchNode, type BatchOptions, type BatchOutcome, writeBatch } from './batches.ts'
import {
  collect,
  type InputConnection,
  inputConnections,
  type SentConnection,
  wordConnectionProblem,
} from './connection-input.ts'
import { patchTree } from './nodes.ts'
import { locateProperty, type PropertyPatch, refuseWrongMerge } from './property-changes.ts'

/** Limits concurrent batches, and copies of nodes. A batch holds its 16 MiB body several times in memory: as text, JSON, bytes and packs. */
export const semaphore = createCallerSemaphore({
  all: { running: 2, waiting: 8 },
  person: { running: 1, waiting: 2 },
  waitTimeoutMs: 30_000,
  refusal: 'Too many batches are being written; try again in a moment',
})

interface Batch {
  readonly nodes: readonly SentNode[]
}

/** The outcome of an item, with its ref in the batch. */
interface Written extends Pick<BatchOutcome, 'id' | 'head'> {
  readonly ref?: string
}

/**
 * Creates all nodes or none.
 *
 * @throws AppError as writeBatch, busy
 * @throws ValidationError its problems are located below `["body", "nodes", position]`
 */
export async function createNodes(
  ctx: RequestCtx<Person>,
  { path, body }: Path<OrgAt> & Body<Batch>,
): Promise<{ nodes: Written[] }> {
  const outcomes = await write(ctx, path, body, 'refuse')
  return { nodes: outcomes.map(({ status, ...created }) => created) }
}

/** Creates new nodes, and makes one commit to each existing node that differs. @throws the errors of createNodes */
export async function putNodes(ctx: RequestCtx<Person>, { path, body }: Path<OrgAt> & Body<Batch>) {
  return { nodes: await write(ctx, path, body, 'update') }
}

async function write(
  ctx: RequestCtx<Person>,
  at: OrgAt,
  { nodes: sent }: Batch,
  existing: BatchOptions['existing'],
): Promise<(BatchOutcome & { ref?: string })[]> {
  const { signal } = ctx.request
  await authorizeOrg(ctx, at, 'editor')
  refuseMany(sent)
  if (existing === 'update') refuseNameless(sent)
  return semaphore.run({ caller: callerOf(ctx), signal }, async () => {
    const { nodes, locate, worded } = await readItems(ctx, at, sent)
    const outcomes = await worded(writeBatch(ctx, at, nodes, { existing, locate }))
    return outcomes.map((outcome, position) => {
      const ref = sent[position]?.ref
      return { ...outcome, ...(ref === undefined ? {} : { ref }) }
    })
  })
}

/** The items of a request, ready to be built. */
export interface ReadItems {
  readonly nodes: readonly InputNode[]
  /** Locates a problem of an item in the body. */
  readonly locate: BatchOptions['locate']
  /** Words the problems that the work throws with names that the sender knows. */
  worded<T>(work: Promise<T>): Promise<T>
}

/** Reads the items of a list of the body. @throws ValidationError as batchNodes */
export async function readItems(
  deps: Services,
  at: OrgAt,
  sent: readonly SentNode[],
  list: Loc = inBatch,
): Promise<ReadItems> {
  const nodes = await batchNodes(sent, (...change) => requireKnownType(deps, at.org_id, ...change), list)
  const word = createWording(sent, nodes, list)
  return {
    nodes,
    locate: createLocator(sent, nodes, list),
    worded: (work) =>
      work.catch((error: unknown) => {
        throw error instanceof ValidationError ? new ValidationError(error.problems.map(word)) : error
      }),
  }
}

/** Refuses a batch with too many entries. @throws ValidationError too_long */
function refuseMany(sent: readonly SentNode[]): void {
  let entries = 0
  for (const { parents = [], connections = [], files = [] } of sent)
    entries += parents.length + connections.length + files.length
  if (entries <= limits.batchEntries) return
  const msg = `This batch has ${entries} parents, connections and files, and the limit is 20,000. Send its nodes in several batches`
  throw new ValidationError([
    { loc: ['body', 'nodes'], msg, type: 'too_long', ctx: { max_length: limits.batchEntries } },
  ])
}

/** Refuses items without id and ref: each repetition of the batch would create another node. @throws ValidationError */
function refuseNameless(sent: readonly SentNode[]): void {
  const msg = 'Send the id of the node, or a ref for a new one'
  const nameless = sent.flatMap(({ id, ref }, at) => (id === undefined && ref === undefined ? [at] : []))
  if (nameless.length === 0) return
  throw new ValidationError(
    nameless.slice(0, 100).map((at) => ({ loc: ['body', 'nodes', at, 'id'], msg, type: 'missing' as const })),
  )
}

/** An item. `parents` and the targets of connections are ids of nodes, or refs of items. */
export interface SentNode extends PropertyPatch {
  readonly id?: string
  /** The name that other items use for it. It must not be a UUID. */
  readonly ref?: string
  readonly title?: string
  readonly tags?: readonly string[]
  readonly text_content?: string
  /** The message of the commit. */
  readonly message?: string
  readonly parents?: readonly string[]
  readonly connections?: readonly SentConnection[]
  readonly files?: readonly Omit<Change, 'action'>[]
}

type Loc = readonly (string | number)[]

/** The list of a batch in its body. */
const inBatch: Loc = ['body', 'nodes']

/** An item whose refs are resolved to ids. */
interface Resolved extends Omit<SentNode, 'parents' | 'connections'> {
  readonly id: string
  readonly loc: Loc
  readonly text: Buffer | undefined
  readonly parents: readonly string[] | undefined
  readonly connections: readonly InputConnection[] | undefined
  readonly fileChanges: readonly FileChange[] | undefined
}

/** An item as the batch writes it. */
export interface InputNode extends BatchNode {
  /** The ids of its connections in the order of the item. Filled when the item is built. */
  readonly connectionIds: readonly string[]
}

type RequireType = (
  draft: ObjectDraft,
  before: Oid | null,
  properties: Readonly<Record<string, unknown>>,
  loc: Problem['loc'],
) => Promise<void>

/** The most problems of one response. */
const maxProblems = 100

function messagesOf({ message }: SentNode): Pick<BatchNode, 'message' | 'changeMessage'> {
  return message === undefined ? { message: 'Create node', changeMessage: 'Edit node' } : { message }
}

/**
 * Prepares the items for the batch, in their order. Yields to the event loop, because items may have many parents.
 *
 * @param requireType judges properties that replace all properties of a node
 * @throws ValidationError an id or ref is used twice, no item has a ref, or a field breaks a rule
 */
export async function batchNodes(
  sent: readonly SentNode[],
  requireType: RequireType,
  list = inBatch,
): Promise<InputNode[]> {
  const problems: Problem[] = []
  const ids = idsOf(sent, problems, list)
  const nodes: InputNode[] = []
  const pace = createYielder()
  for (const [at, one] of sent.entries()) {
    if (problems.length >= maxProblems) break
    const { parents = [], connections = [], files = [] } = one
    if (pace.shouldYield(1 + parents.length + connections.length + files.length)) await pace.yieldToEventLoop()
    const id = ids.own[at] ?? ''
    collect(problems, () => refuseOwnVia([...list, at, 'message'], one.message ?? ''))
    const resolved = collect(problems, () => resolve(one, id, [...list, at], ids.named))
    if (resolved === undefined) continue
    const connectionIds: string[] = []
    const build = builderOf(resolved, connectionIds, requireType)
    nodes.push({ id, title: one.title ?? '', ...messagesOf(one), build, connectionIds })
  }
  if (problems.length > 0) throw new ValidationError(problems.slice(0, maxProblems))
  return nodes
}

interface Ids {
  /** Ids by position. */
  readonly own: readonly string[]
  /** Ids by ref. */
  readonly named: ReadonlyMap<string, string>
}

function idsOf(sent: readonly SentNode[], problems: Problem[], list: Loc): Ids {
  const seen = new Map<string, number>()
  const refs = new Map<string, number>()
  const named = new Map<string, string>()
  const own = sent.map(({ id = newId(), ref }, at) => {
    const loc = [...list, at]
    const same = seen.get(id)
    if (same !== undefined)
      problems.push(problem([...loc, 'id'], `${placesOf(list, same, at)} have the same id: ${id}`, id))
    seen.set(id, same ?? at)
    if (ref === undefined) return id
    const sameRef = refs.get(ref)
    if (isId(canonicalId(ref)))
      problems.push(
        problem([...loc, 'ref'], 'A ref must not be a UUID, because it would look like the id of a node', ref),
      )
    else if (sameRef !== undefined)
      problems.push(problem([...loc, 'ref'], `${placesOf(list, sameRef, at)} have the same ref: ${excerpt(ref)}`, ref))
    refs.set(ref, sameRef ?? at)
    named.set(ref, id)
    return id
  })
  return { own, named }
}

/** Resolves the refs of an item and checks its fields. @throws ValidationError */
function resolve(sent: SentNode, id: string, loc: Loc, named: ReadonlyMap<string, string>): Resolved {
  const problems: Problem[] = []
  const lookUp = (name: string, at: Loc): string => {
    const found = named.get(name) ?? canonicalId(name)
    if (isId(found)) return found
    throw invalid(at, `"${excerpt(name)}" is neither the id of a node nor the ref of an item`, name)
  }
  const { title, text_content } = sent
  if (title !== undefined) collect(problems, () => requireTitle(title, [...loc, 'title']))
  collect(problems, () => refuseWrongMerge(sent, loc))
  const text =
    text_content === undefined ? undefined : collect(problems, () => textBytes(text_content, [...loc, 'text_content']))
  const parents = sent.parents?.map(
    (name, at) => collect(problems, () => lookUp(name, [...loc, 'parents', at])) ?? canonicalId(name),
  )
  const seen = new Map<string, number>()
  for (const [at, parent] of parents?.entries() ?? []) {
    const same = seen.get(parent)
    const list = [...loc, 'parents']
    if (same !== undefined)
      problems.push(problem([...list, at], `${placesOf(list, same, at)} are the same node`, parent))
    seen.set(parent, same ?? at)
  }
  const connections = collect(problems, () => sent.connections && inputConnections(sent.connections, loc, lookUp))
  const files = collect(problems, () => sent.files && filesOf(sent.files, [...loc, 'files']))
  if (problems.length > 0) throw new ValidationError(problems)
  return { ...sent, id, loc, text, parents, connections, fileChanges: files }
}

/** Checks the files of an item. @throws ValidationError */
function filesOf(files: NonNullable<SentNode['files']>, loc: Loc): FileChange[] {
  const problems: Problem[] = []
  for (const [at, { path }] of files.entries())
    if (isOwn(path))
      problems.push(
        problem([...loc, at, 'path'], `${path} cannot be sent as a file: it is written from other fields`, path),
      )
  const changes = collect(problems, () =>
    fileChanges(
      files.map((file) => ({ action: 'put', ...file })),
      loc,
    ),
  )
  if (problems.length > 0) throw new ValidationError(problems)
  return changes ?? []
}

/** True if the file is written from a field of the item. */
function isOwn(path: string): boolean {
  return (
    path === nodeFile || path === textFile || [edgeIdAt('parents', path), edgeIdAt('connections', path)].some(Boolean)
  )
}

/** Returns the function that builds the item's tree. @param connectionIds receives the ids of the item's connections */
function builderOf(item: Resolved, connectionIds: string[], requireType: RequireType): BatchNode['build'] {
  return async (draft, before) => {
    const { title, tags, properties, merge_properties, loc, text } = item
    if (before === null && title === undefined)
      throw new ValidationError([{ loc: [...loc, 'title'], msg: 'Field required', type: 'missing' }])
    const fields = {
      ...(title === undefined ? {} : { title }),
      ...(tags && { tags }),
      ...(properties && { properties }),
      ...(merge_properties && { merge_properties }),
      ...(text && { text }),
    }
    if (properties) await requireType(draft, before, properties, loc)
    const patched = await patchTree(draft, before, { title: title ?? '' }, fields)
    const edges = [
      ...(await parentChanges(draft, before, item)),
      ...(await connectionChanges(draft, before, item, connectionIds)),
    ]
    const tree = edges.length > 0 ? await applyChanges(draft, patched, edges) : patched
    return item.fileChanges ? withFiles(draft, tree, item.fileChanges, [...loc, 'files']) : tree
  }
}

/** The changes to the parents' files. Parents that stay keep their labels. */
async function parentChanges(draft: ObjectDraft, tree: Oid | null, { parents }: Resolved): Promise<PathChange[]> {
  if (!parents) return []
  const known = new Set((await readContent(draft.repo, tree)).parents.map(({ id }) => id))
  const added = parents.filter((id) => !known.has(id))
  const blob = added.length > 0 ? await draft.blob(asJson({})) : null
  return [...gone('parents', known, parents), ...added.map((id) => ({ path: edgeFile('parents', id), blob }))]
}

/**
 * The changes to the connections' files. A connection without an id is matched to one that the node already has, with
 * the same target, type and label.
 */
async function connectionChanges(
  draft: ObjectDraft,
  tree: Oid | null,
  { connections }: Resolved,
  wanted: string[],
): Promise<PathChange[]> {
  if (!connections) return []
  wanted.length = 0
  const known = new Map((await readContent(draft.repo, tree)).connections.map((edge) => [edge.id, edge]))
  const taken = new Set(connections.flatMap(({ id }) => id ?? []))
  const free = new Map<string, string[]>()
  for (const edge of known.values()) {
    if (taken.has(edge.id)) continue
    const alike = free.get(kindOf(edge))
    if (alike) alike.push(edge.id)
    else free.set(kindOf(edge), [edge.id])
  }
  const changes: PathChange[] = []
  for (const { id: sent, made, ...edge } of connections) {
    const id = sent ?? free.get(kindOf(edge))?.shift() ?? made
    wanted.push(id)
    const before = known.get(id)
    if (before && kindOf(before) === kindOf(edge)) continue
    changes.push({ path: edgeFile('connections', id), blob: await draft.blob(connectionJson(edge)) })
  }
  return [...gone('connections', known.keys(), wanted), ...changes]
}

function kindOf({ target, type, label }: Omit<ConnectionEntity, 'id'>): string {
  return JSON.stringify([target, type, label])
}

function gone(folder: EdgeFolderName, known: Iterable<string>, wanted: readonly string[]): PathChange[] {
  const kept = new Set(wanted)
  return [...known].filter((id) => !kept.has(id)).map((id) => ({ path: edgeFile(folder, id), blob: null }))
}

/** The tree with these files and those that are written from fields, and no others. */
async function withFiles(draft: ObjectDraft, tree: Oid, files: readonly FileChange[], loc: Loc): Promise<Oid> {
  const wanted = new Set(files.map(({ path }) => path))
  const others = (await listFiles(draft.repo, tree)).filter(({ path }) => !isOwn(path) && !wanted.has(path))
  return applyFileChanges(draft, tree, [...files, ...others.map(({ path }) => ({ path, bytes: null }))], loc)
}

function problem(loc: Loc, msg: string, input: unknown): Problem {
  return { loc, msg, type: 'value_error', input }
}

/** Returns a function that locates a path of an item in the body. */
function createLocator(sent: readonly SentNode[], nodes: readonly InputNode[], list: Loc) {
  const ids = new Map(sent.flatMap(({ ref }, at) => (ref === undefined ? [] : [[ref, nodes[at]?.id ?? '']])))
  return (at: number, path: string, steps: Loc = []): Loc => {
    const loc = [...list, at, ...locateProperty(sent[at] ?? {}, steps)]
    const { parents = [], files = [] } = sent[at] ?? {}
    const parentId = edgeIdAt('parents', path)
    const parent = parents.findIndex((name) => (ids.get(name) ?? canonicalId(name)) === parentId)
    if (parentId !== undefined) return parent < 0 ? loc : [...loc, 'parents', parent]
    const edge = edgeIdAt('connections', path)
    const connection = edge === undefined ? -1 : (nodes[at]?.connectionIds.indexOf(edge) ?? -1)
    if (edge !== undefined) return connection < 0 ? [...loc, 'connections'] : [...loc, 'connections', connection]
    const file = files.findIndex((one) => one.path === path)
    return file < 0 ? loc : [...loc, 'files', file]
  }
}

/**
 * Returns a function that words problems with names that the sender knows. Items have their refs or their positions in
 * the batch, not the ids that the service made for them. A connection without an id has only its `loc`.
 */
function createWording(sent: readonly SentNode[], nodes: readonly InputNode[], list: Loc) {
  const names = new Map<string, string>()
  for (const [at, { id, ref }] of sent.entries())
    if (id === undefined && nodes[at]) names.set(nodes[at].id, ref === undefined ? `nodes[${at}]` : excerpt(ref))
  const words = (text: string) => text.replace(uuid, (id) => names.get(id) ?? id)
  return (problem: Problem): Problem => {
    const { path, reason } = problem.ctx ?? {}
    if (typeof path !== 'string' || typeof reason !== 'string') return problem
    const { msg } = wordConnectionProblem(problem, sent[Number(problem.loc[list.length])]?.connections)
    return { ...problem, msg: words(msg), ctx: { ...problem.ctx, path: words(path), reason: words(reason) } }
  }
}

const uuid = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/g
