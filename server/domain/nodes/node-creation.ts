/** How a node comes into being: its repository, whole, in one rename. */
import { v7 as newId } from 'uuid'
import { GitError } from '../../../gitstore/errors.ts'
import { newObjectBatch, type ObjectBatch } from '../../../gitstore/objects/object-batch.ts'
import { applyChanges } from '../../../gitstore/objects/tree-changes.ts'
import type { Oid } from '../../../gitstore/repo.ts'
import { createRepo } from '../../../gitstore/repos.ts'
import { findNodeById, type NodeRow } from '../../../index/derived/node-queries.ts'
import type { Deps } from '../../deps.ts'
import { Invalid, invalid, Refusal } from '../../errors.ts'
import { orgFor } from '../access.ts'
import type { Person } from '../actor.ts'
import { problemsOf, refuseProblems, whileGraphHeld } from '../branches/branch-moves.ts'
import { type NodeFields, nodeJson, requireTitle, textBytes } from '../format/node-files.ts'
import { edgeFile, liesIn, nodeFile, textFile } from '../format/paths.ts'
import { asJson, signature } from '../format/signatures.ts'
import { followSoon, readBack } from '../indexing/index-node.ts'
import { isId, ledgerRef, main, nodeRepo } from '../layout.ts'
import { startLedger } from '../ledger/ledger.ts'
import { readNode } from './nodes.ts'
import { isTrashedElsewhere } from './trashed.ts'

export interface NodeInput extends NodeFields {
  readonly text_content?: string
  readonly parents?: readonly string[]
  readonly initialize?: boolean
  readonly id?: string
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
  const files = new Map<string, Buffer>([[nodeFile, nodeJson(input)]])
  if (input.text_content !== undefined) files.set(textFile, textBytes(input.text_content))
  for (const parent of parents) files.set(edgeFile('parents', parent), asJson({}))
  const id = await createNodeFrom(deps, actor, orgId, {
    title: input.title,
    files: initialize ? files : undefined,
    message: 'Create node',
    ...(input.id === undefined ? {} : { id: input.id.toLowerCase() }),
    locate: (path) => {
      const at = parents.findIndex((parent) => path === edgeFile('parents', parent))
      return at < 0 ? ['body'] : ['body', 'parents', at]
    },
  })
  return readBack(deps, () => readNode(deps, actor, orgId, id))
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
        const draft = newObjectBatch(repo)
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
      if (seed.id !== undefined && (await isTrashedElsewhere(deps.store, orgId, id))) throw taken()
      return refs.set(ledgerRef, await startLedger(repo, { id, org_id: orgId, title: seed.title, created_at }, actor))
    }).catch((error: unknown) => {
      if (error instanceof GitError && error.code === 'repo_exists') throw known(orgId, id)
      throw error
    })
  }
  const hasParents = [...(seed.files?.keys() ?? [])].some((path) => liesIn('parents', path))
  if (hasParents) await whileGraphHeld(deps, orgId, id, make)
  else await make()
  await followSoon(deps, orgId, id)
  return id
}

async function treeOf(draft: ObjectBatch, files: NodeFiles): Promise<Oid> {
  const changes = await Promise.all([...files].map(async ([path, bytes]) => ({ path, blob: await draft.blob(bytes) })))
  return applyChanges(draft, null, changes)
}

async function refuseKnown(deps: Deps, orgId: string, id: string): Promise<void> {
  const row = await findNodeById(deps.index.read, id)
  if (row) throw row.org_id === orgId ? known(orgId, id) : taken()
}

/** Of a node of another organisation no more is told. */
function taken(): Refusal {
  return new Refusal('node_exists', 'This id is taken')
}

function known(orgId: string, id: string): Refusal {
  return new Refusal('node_exists', 'A node with this id exists', { location: `/orgs/${orgId}/nodes/${id}` })
}
