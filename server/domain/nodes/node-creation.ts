/** Creates one node from the fields of a request, a copied tree or commits. */
import { v7 as newId } from 'uuid'
import { newObjectDraft, type ObjectDraft } from '../../../gitstore/objects/object-batch.ts'
import { applyChanges } from '../../../gitstore/objects/tree-changes.ts'
import { listFiles } from '../../../gitstore/objects/trees.ts'
import type { Oid, PendingObject } from '../../../gitstore/repo.ts'
import { areFewEdges } from '../../../index/derived/new-neighbours.ts'
import type { NewNodeRows } from '../../../index/derived/new-nodes.ts'
import type { NodeRow } from '../../../index/derived/node-queries.ts'
import { AppError, invalid, ValidationError } from '../../base/errors.ts'
import { excerpt } from '../../base/excerpt.ts'
import { authorizeOrg, type OrgAccess, requireRole } from '../access.ts'
import type { Person } from '../actor.ts'
import { type Locate, problemsOf, refuseProblems } from '../branches/branch-commits.ts'
import { findGraphProblems } from '../branches/content-rules.ts'
import { readOrgTypes } from '../branches/type-rules.ts'
import { type TakeRoom, withByteRoom } from '../byte-quota.ts'
import { changeSetsOf } from '../consent/place-checks.ts'
import { placesOf } from '../format/json-text.ts'
import { connectionJson, type NodeFields, nodeJson, requireTitle, textBytes } from '../format/node-files.ts'
import { readContent } from '../format/node-format.ts'
import { edgeFile, nodeFile, textFile } from '../format/paths.ts'
import { asJson } from '../format/signatures.ts'
import { authorizeNodeInOrg } from '../indexing/freshness.ts'
import { readResult } from '../indexing/index-node.ts'
import { isId, main, nodeRepo } from '../layout.ts'
import { withRoomForNodes } from '../quotas.ts'
import type { Ctx, Services } from '../services.ts'
import type { Body, OrgAt, Path } from '../targets.ts'
import { typeText } from '../types/org-types.ts'
import { fillIn } from '../types/template.ts'
import { inputConnections, type SentConnection, wordConnectionProblem } from './connection-input.ts'
import { createInTurn } from './creation-turns.ts'
import { completeNode, type NewNode } from './new-nodes.ts'
import { toNewNode, toNode } from './nodes.ts'
import { refuseTaken } from './taken-ids.ts'

export interface NodeInput extends NodeFields {
  readonly text_content?: string
  readonly parents?: readonly string[]
  readonly connections?: readonly SentConnection[]
  readonly initialize?: boolean
  /** If true, the default, the template of the node's type fills in absent fields. */
  readonly template?: boolean
  readonly id?: string
}

/** The files of a commit, by path. */
export type NodeFiles = ReadonlyMap<string, Buffer>

/**
 * Creates a node. Builds the repository under a temporary name and renames it into place; the rename is the commit
 * point.
 *
 * @throws AppError forbidden, node_exists, pull_request_required, quota_exceeded
 * @throws ValidationError edges break the graph's rules, or there is content without a first commit
 */
export async function createNode(ctx: Ctx<Person>, { path: at, body }: Path<OrgAt> & Body<NodeInput>) {
  const access = await authorizeOrg(ctx, at, 'public')
  requireCreator(access)
  const { parents = [], connections = [], initialize = true } = body
  requireTitle(body.title)
  if (!initialize) refuseContent(body)
  refuseWrongParents(parents)
  const content = await withTemplate(ctx, access, body)
  const edges = inputConnections(connections, ['body'], requireNodeId).map(({ id, made, ...edge }) => ({
    path: edgeFile('connections', id ?? made),
    bytes: connectionJson(edge),
  }))
  const files = new Map<string, Buffer>([[nodeFile, nodeJson(content)]])
  if (content.text_content !== undefined) files.set(textFile, textBytes(content.text_content))
  for (const parent of parents) files.set(edgeFile('parents', parent), asJson({}))
  for (const { path, bytes } of edges) files.set(path, bytes)
  const created = await createNodeFrom(ctx, access, {
    title: body.title,
    ...(initialize ? { build: (draft: ObjectDraft) => buildTree(draft, null, files) } : {}),
    hasParents: parents.length > 0,
    message: 'Create node',
    ...(body.id === undefined ? {} : { id: body.id.toLowerCase() }),
    locate: (path, steps = []) => {
      const parent = parents.findIndex((id) => path === edgeFile('parents', id))
      if (parent >= 0) return ['body', 'parents', parent]
      const connection = edges.findIndex((edge) => path === edge.path)
      return connection < 0 ? ['body', ...steps] : ['body', 'connections', connection]
    },
  }).catch((error: unknown) => {
    if (!(error instanceof ValidationError)) throw error
    throw new ValidationError(error.problems.map((problem) => wordConnectionProblem(problem, connections)))
  })
  return readCreated(ctx, access, created)
}

/** Requires the role of an editor. The refusal of a contributor says that they can propose pages. @throws AppError forbidden */
function requireCreator(access: OrgAccess): void {
  const change_sets = changeSetsOf(access.org)
  const detail = `Contributors create pages by a proposal: send the page to POST ${change_sets}`
  if (access.role === 'contributor') throw new AppError('forbidden', detail, { change_sets })
  requireRole(access, 'editor')
}

/** Describes a node that was just created. @throws the errors of readResult */
export function readCreated(deps: Services, access: OrgAccess, { id, rows }: CreatedNode): ReturnType<typeof toNode> {
  return readResult(deps, async () =>
    rows && access.onlyNode === undefined && areFewEdges(rows)
      ? toNewNode(deps, access, rows)
      : toNode(deps, await authorizeNodeInOrg(deps, access, id, 'public')),
  )
}

/** Fills in absent fields from the template of the node's type. */
async function withTemplate(deps: Services, { org }: Pick<OrgAccess, 'org'>, input: NodeInput): Promise<NodeInput> {
  const { template = true, properties = {} } = input
  if (!template || typeText(properties) === undefined) return input
  const type = (await readOrgTypes(deps, org.id)).typeOf(properties)
  return type ? { ...input, ...fillIn(type.definition, input) } : input
}

/** Refuses parents that are not ids, or the same node twice. @throws ValidationError */
function refuseWrongParents(parents: readonly string[]): void {
  const list = ['body', 'parents']
  const seen = new Map<string, number>()
  for (const [at, parent] of parents.entries()) {
    const same = seen.get(parent)
    requireNodeId(parent, [...list, at])
    if (same !== undefined) throw invalid([...list, at], `${placesOf(list, same, at)} are the same node`, parent)
    seen.set(parent, at)
  }
}

/** @throws ValidationError */
function requireNodeId(id: string, loc: readonly (string | number)[]): string {
  if (isId(id)) return id
  throw invalid(loc, `"${excerpt(id)}" is not the id of a node`, id)
}

/** Refuses fields that need a first commit. */
function refuseContent(input: NodeInput): void {
  const fields = (['text_content', 'tags', 'properties', 'parents', 'connections'] as const).filter(
    (name) => input[name] !== undefined,
  )
  if (fields.length === 0) return
  const why = 'is not allowed with `initialize: false`, because it needs a first commit'
  throw new ValidationError(
    fields.map((name) => ({ loc: ['body', name], msg: `\`${name}\` ${why}`, type: 'value_error' })),
  )
}

interface NodeSeed {
  readonly id?: string
  readonly title: string
  /** Builds the tree of the first commit. Absent: the node has no commit. */
  readonly build?: (draft: ObjectDraft) => Promise<Oid>
  /** Builds earlier commits instead of one, and returns the last of them with its tree. */
  readonly commits?: (draft: ObjectDraft) => Promise<{ readonly tree: Oid; readonly head: Oid }>
  /** True if the tree may have parents. */
  readonly hasParents: boolean
  readonly message: string
  readonly locate: Locate
}

export interface CreatedNode {
  readonly id: string
  /** Absent if other nodes may have edges to the id, or without exactly one commit. */
  readonly rows?: NewNodeRows | undefined
}

/** Creates and indexes a node. @throws AppError quota_exceeded, node_exists, forbidden */
export async function createNodeFrom(
  ctx: Ctx<Person>,
  { org }: Pick<OrgAccess, 'org'>,
  seed: NodeSeed,
): Promise<CreatedNode> {
  const id = seed.id ?? newId()
  const make = async (take: TakeRoom): Promise<CreatedNode> => {
    const built = await buildFirst(ctx, org, id, seed)
    if (seed.id !== undefined) await refuseTaken(ctx, org.id, [id])
    const node = await completeNode(ctx, org.id, built)
    await take(node.objects.values())
    const judge = () => judgeEdges(ctx, org, node, seed.locate)
    const [rows] = await createInTurn(org.id, { deps: ctx, actor: ctx.actor, nodes: [node], judge })
    return node.isFresh ? { id, rows } : { id }
  }
  return withRoomForNodes(ctx, org.id, 1, () => withByteRoom(ctx, org.id, make))
}

/** Builds what main has first, in memory. @throws ValidationError it breaks a rule */
async function buildFirst(deps: Services, org: OrgAccess['org'], id: string, seed: NodeSeed): Promise<NewNode> {
  const { title, build, commits, hasParents, message, locate } = seed
  const objects = new Map<Oid, PendingObject>()
  const draft = newObjectDraft(nodeRepo(deps.store, org.id, id), objects)
  const made = { id, isFresh: seed.id === undefined, title, draft, objects, hasParents }
  if (commits) return { ...made, first: { head: (await commits(draft)).head } }
  if (!build) return { ...made, first: undefined }
  const tree = await build(draft)
  const node = { id } as NodeRow // problemsOf reads only the id
  refuseProblems(await problemsOf(deps, { org, node }, draft.repo, main, null, tree), locate)
  return { ...made, first: { tree, message } }
}

/** Judges the edges again under the lock of the graph, if there may be parents. @throws ValidationError */
async function judgeEdges(
  { index }: Services,
  { id: orgId }: OrgAccess['org'],
  { id, draft, first, hasParents }: NewNode,
  locate: Locate,
): Promise<void> {
  if (!hasParents || !first || !('tree' in first)) return
  const before = await readContent(draft.repo, null)
  const after = await readContent(draft.repo, first.tree)
  refuseProblems(await findGraphProblems(index.read, orgId, id, before, after), locate)
}

/** Builds the tree of exactly these files on the draft, from `before` (null: from nothing). */
export async function buildTree(draft: ObjectDraft, before: Oid | null, files: NodeFiles): Promise<Oid> {
  const old = before === null ? [] : await listFiles(draft.repo, before)
  const gone = old.filter(({ path }) => !files.has(path)).map(({ path }) => ({ path, blob: null }))
  const wanted = await Promise.all([...files].map(async ([path, bytes]) => ({ path, blob: await draft.blob(bytes) })))
  return applyChanges(draft, before, [...gone, ...wanted])
}
