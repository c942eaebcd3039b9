/** Nodes: made, read, edited and moved to the trash. */
import { mkdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { v7 as newId } from 'uuid'
import { type Draft, openDraft } from '../../gitstore/draft.ts'
import { GitError } from '../../gitstore/errors.ts'
import { asBranchName } from '../../gitstore/names.ts'
import { transact } from '../../gitstore/ref-transaction.ts'
import type { Oid } from '../../gitstore/repo.ts'
import { createRepo, moveRepo } from '../../gitstore/repos.ts'
import { applyChanges } from '../../gitstore/trees.ts'
import type { Deps } from '../deps.ts'
import { Invalid, invalid, Refusal } from '../errors.ts'
import { type NodeRow, nodeFor, orgFor, requireStill } from './access.ts'
import type { Actor, Person } from './actor.ts'
import { asJson, signature } from './authors.ts'
import { commitToBranch, problemsOf, refuseProblems, whileGraphHeld } from './branch-moves.ts'
import { isTitle, type NodeContent, readContent, textLimit } from './entities.ts'
import { followNode, followSoon } from './follow.ts'
import { startLedger } from './ledger.ts'
import { readNeighbours } from './neighbours.ts'
import { type Page, pageOf } from './pages.ts'
import { isId, ledgerRef, main, nodeRepo, trashFolder } from './places.ts'

export interface NodeInput {
  readonly title: string
  readonly text_content?: string
  readonly tags?: readonly string[]
  readonly properties?: Readonly<Record<string, unknown>>
  readonly parents?: readonly string[]
  readonly initialize?: boolean
  readonly id?: string
}

export interface NodePatch {
  readonly title?: string
  readonly text_content?: string
  readonly tags?: readonly string[]
  readonly properties?: Readonly<Record<string, unknown>>
  readonly message?: string
  readonly expected_head?: string | null
}

/** Anything that may lie in the first commit, by path. */
export type NodeFiles = ReadonlyMap<string, Buffer>

/**
 * Makes the repository whole under a temporary name and renames it into place: the commit point.
 *
 * @throws Refusal node_exists; Invalid: parents that break the graph's rules, content without a first commit
 */
export async function createNode(deps: Deps, actor: Person, orgId: string, input: NodeInput) {
  await orgFor(deps, actor, orgId, 'editor')
  const { parents = [], initialize = true } = input
  requireTitle(input.title)
  if (!initialize) refuseContent(input)
  const parentAt = parents.findIndex((parent, at) => !isId(parent) || parents.indexOf(parent) !== at)
  if (parentAt >= 0) throw invalid(['body', 'parents', parentAt], 'is no node id, or is named twice', parents[parentAt])
  const files = new Map<string, Buffer>([['node.json', nodeJson(input)]])
  if (input.text_content !== undefined) files.set('content.md', textBytes(input.text_content))
  for (const parent of parents) files.set(`parents/${parent}.json`, asJson({}))
  const id = await createNodeFrom(deps, actor, orgId, {
    title: input.title,
    files: initialize ? files : undefined,
    message: 'Create node',
    ...(input.id === undefined ? {} : { id: input.id.toLowerCase() }),
    locate: (path) => {
      const at = parents.findIndex((parent) => path === `parents/${parent}.json`)
      return at < 0 ? ['body'] : ['body', 'parents', at]
    },
  })
  return readNode(deps, actor, orgId, id)
}

/** What only a first commit could hold. */
function refuseContent(input: NodeInput): void {
  const fields = (['text_content', 'tags', 'properties', 'parents'] as const).filter(
    (name) => input[name] !== undefined,
  )
  if (fields.length === 0) return
  const msg = 'has no place to be without the first commit; leave initialize true'
  throw new Invalid(fields.map((name) => ({ loc: ['body', name], msg, type: 'value_error' })))
}

export interface NodeSeed {
  readonly id?: string
  readonly title: string
  /** The tree of the first commit; undefined leaves the node without one. */
  readonly files: NodeFiles | undefined
  readonly message: string
  readonly locate: (path: string) => readonly (string | number)[]
}

/** Creation below `createNode` and the import: the id of the new node, which the index has followed. */
export async function createNodeFrom(deps: Deps, actor: Person, orgId: string, seed: NodeSeed): Promise<string> {
  const { org } = await orgFor(deps, actor, orgId, 'editor')
  const id = seed.id ?? newId()
  const make = async (): Promise<void> => {
    const created_at = deps.now().toISOString()
    await createRepo(nodeRepo(deps.store, orgId, id).dir, async (repo) => {
      const refs = new Map<string, Oid>()
      if (seed.files) {
        const draft = openDraft(repo)
        const tree = await treeOf(draft, seed.files)
        const node = { id } as NodeRow // only the id of a node that has no row yet is read
        refuseProblems(await problemsOf(deps, { org, node }, draft.repo, main, null, tree), seed.locate)
        const person = signature(actor, created_at)
        refs.set(
          main,
          await draft.commit({ tree, parents: [], author: person, committer: person, message: seed.message }),
        )
        await draft.save()
      }
      await refuseKnown(deps, orgId, id)
      return refs.set(ledgerRef, await startLedger(repo, { id, org_id: orgId, title: seed.title, created_at }, actor))
    }).catch((error: unknown) => {
      if (error instanceof GitError && error.code === 'repo_exists') throw known(orgId, id)
      throw error
    })
  }
  const hasParents = [...(seed.files?.keys() ?? [])].some((path) => path.startsWith('parents/'))
  if (hasParents) await whileGraphHeld(deps, orgId, id, make)
  else await make()
  await followSoon(deps, orgId, id)
  return id
}

/** Oldest first. */
export async function listNodes(
  deps: Deps,
  actor: Person,
  orgId: string,
  query: Page & { tag?: string; parent_id?: string },
) {
  await orgFor(deps, actor, orgId, 'reader')
  const { tag, parent_id } = query
  let all = deps.index.read.selectFrom('node').where('org_id', '=', orgId)
  if (tag !== undefined)
    all = all.where('id', 'in', deps.index.read.selectFrom('node_tag').select('node_id').where('tag', '=', tag))
  if (parent_id !== undefined) {
    const children = deps.index.read
      .selectFrom('edge')
      .innerJoin('node as parent', 'parent.id', 'edge.source')
      .select('edge.target')
      .where('parent.id', '=', parent_id)
      .where('edge_type', '=', 'parent_child')
    all = all.where('id', 'in', children)
  }
  const rows = await all
    .selectAll()
    .orderBy('created_at')
    .orderBy('id')
    .limit(query.limit)
    .offset(query.offset)
    .execute()
  const { total } = await all.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
  return { nodes: rows.map(toSummary), ...pageOf(query, total) }
}

export async function readNode(deps: Deps, actor: Actor, orgId: string, nodeId: string) {
  const { node } = await nodeFor(deps, actor, orgId, nodeId, 'public')
  const text = await deps.index.read
    .selectFrom('node_text')
    .select('text')
    .where('node_id', '=', nodeId)
    .executeTakeFirst()
  return {
    ...toSummary(node),
    text_content: text?.text ?? '',
    ...(await readNeighbours(deps.index.read, orgId, nodeId)),
    clone_url: `${deps.config.publicUrl ?? ''}/git/${orgId}/${nodeId}.git`,
  }
}

/** One commit on main, or none if nothing changes. */
export async function updateNode(deps: Deps, actor: Person, orgId: string, nodeId: string, patch: NodePatch) {
  const access = await nodeFor(deps, actor, orgId, nodeId, 'editor')
  if (patch.title !== undefined) requireTitle(patch.title)
  await commitToBranch(deps, actor, access, {
    branch: mainBranch,
    message: patch.message ?? 'Edit node',
    expectedHead: patch.expected_head,
    addsParents: false,
    build: (draft, tree) => patchTree(draft, tree, access.node, patch),
    locate: () => ['body'],
  }).catch((error: unknown) => {
    if (!(error instanceof Refusal) || error.code !== 'no_changes') throw error
  })
  return readNode(deps, actor, orgId, nodeId)
}

/** Renames the repository into the trash under the ledger's lock; the row follows. */
export async function deleteNode(deps: Deps, actor: Person, orgId: string, nodeId: string): Promise<void> {
  const { repo } = await nodeFor(deps, actor, orgId, nodeId, 'maintainer')
  const folder = join(trashFolder(deps.store), orgId)
  await mkdir(folder, { recursive: true })
  const trashed = join(folder, `${nodeId}.${deps.now().getTime()}.git`)
  await transact(deps.store, [{ repo, ref: ledgerRef }], async () => {
    await requireStill(deps, actor, orgId, 'maintainer')
    await moveRepo(repo.dir, trashed)
    await unlink(join(trashed, `${ledgerRef}.lock`))
    return { moves: [], value: undefined }
  })
  await followNode(deps, orgId, nodeId).catch((error: unknown) => {
    deps.log.error({ err: error, orgId, nodeId }, 'the index still has a deleted node')
    throw new Refusal('outcome_unknown', 'The node is deleted, but not everywhere yet; read again')
  })
}

function toSummary(node: NodeRow) {
  return {
    id: node.id,
    org_id: node.org_id,
    title: node.title,
    tags: JSON.parse(node.tags) as string[], // written by follow.ts
    properties: JSON.parse(node.properties) as Record<string, unknown>, // written by follow.ts
    created_at: node.created_at,
    updated_at: node.updated_at,
    ...(node.head === null ? {} : { head: node.head }),
  }
}

/** The bytes of node.json, unknown keys of an earlier one kept. */
function nodeJson(
  fields: Pick<NodeInput, 'title' | 'tags' | 'properties'>,
  before: Readonly<Record<string, unknown>> = {},
): Buffer {
  return asJson({
    ...before,
    title: fields.title,
    tags: [...new Set(fields.tags ?? [])],
    properties: fields.properties ?? {},
  })
}

const mainBranch = asBranchName('main') ?? failBranch()

function failBranch(): never {
  throw new Error('main is a branch name')
}

async function patchTree(draft: Draft, tree: Oid | null, node: NodeRow, patch: NodePatch): Promise<Oid> {
  const content = await readContent(draft.repo, tree)
  const changes: { path: string; blob: Oid }[] = []
  if (patch.title !== undefined || patch.tags || patch.properties) {
    const bytes = nodeJson(patchedFields(content, node, patch), content.json)
    changes.push({ path: 'node.json', blob: await draft.blob(bytes) })
  }
  if (patch.text_content !== undefined)
    changes.push({ path: 'content.md', blob: await draft.blob(textBytes(patch.text_content)) })
  return applyChanges(draft, tree, changes)
}

function patchedFields(
  content: NodeContent,
  node: NodeRow,
  patch: NodePatch,
): Pick<NodeInput, 'title' | 'tags' | 'properties'> {
  return {
    title: patch.title ?? content.title ?? node.title,
    tags: patch.tags ?? content.tags,
    properties: patch.properties ?? content.properties,
  }
}

/** The spec has seen its length: what is left is what neither UTF-8 nor SQL can hold, and blanks of other kinds. */
function requireTitle(title: string): void {
  if (!isTitle(title)) throw invalid(['body', 'title'], 'is blank, or holds NUL or half of a surrogate pair')
}

function textBytes(text: string): Buffer {
  const loc = ['body', 'text_content']
  if (/\p{Surrogate}/u.test(text)) throw invalid(loc, 'holds half of a surrogate pair')
  const bytes = Buffer.from(text, 'utf8')
  if (bytes.length <= textLimit) return bytes
  const msg = 'A text has at most 10 MiB as UTF-8'
  throw new Invalid([{ loc, msg, type: 'string_too_long', ctx: { max_length: textLimit } }])
}

async function treeOf(draft: Draft, files: NodeFiles): Promise<Oid> {
  const changes = await Promise.all([...files].map(async ([path, bytes]) => ({ path, blob: await draft.blob(bytes) })))
  return applyChanges(draft, null, changes)
}

async function refuseKnown(deps: Deps, orgId: string, id: string): Promise<void> {
  const row = await deps.index.read.selectFrom('node').select('org_id').where('id', '=', id).executeTakeFirst()
  if (row) throw row.org_id === orgId ? known(orgId, id) : new Refusal('node_exists', 'This id is taken')
}

function known(orgId: string, id: string): Refusal {
  return new Refusal('node_exists', 'A node with this id exists', { location: `/orgs/${orgId}/nodes/${id}` })
}
