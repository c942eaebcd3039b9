/** Creates a node: builds its whole repository and renames it into place. */
import { v7 as newId } from 'uuid'
import { isGitError } from '../../../gitstore/errors.ts'
import { createRepo } from '../../../gitstore/new-repos.ts'
import type { ObjectDraft } from '../../../gitstore/objects/object-batch.ts'
import { applyChanges } from '../../../gitstore/objects/tree-changes.ts'
import { listFiles } from '../../../gitstore/objects/trees.ts'
import type { Oid } from '../../../gitstore/repo.ts'
import type { NodeRow } from '../../../index/derived/node-queries.ts'
import type { Deps } from '../../base/deps.ts'
import { invalid, ValidationError } from '../../base/errors.ts'
import { authorizeNodeInOrg, authorizeOrg, type OrgAccess } from '../access.ts'
import type { Person } from '../actor.ts'
import { problemsOf, refuseProblems, withGraphLock } from '../branches/branch-commits.ts'
import { type TakeRoom, withByteRoom } from '../byte-quota.ts'
import { noteIntents } from '../event-log/intents.ts'
import { excerpt } from '../format/excerpt.ts'
import { placesOf } from '../format/json-text.ts'
import { type NodeFields, nodeJson, requireTitle, textBytes } from '../format/node-files.ts'
import { edgeFile, nodeFile, textFile } from '../format/paths.ts'
import { asJson, signature } from '../format/signatures.ts'
import { withVia } from '../format/trailers.ts'
import { readResult, tryIndexNode } from '../indexing/index-node.ts'
import { withNodeIntent } from '../indexing/recovered.ts'
import { isId, ledgerRef, main, nodeRepo } from '../layout.ts'
import { startLedger } from '../ledger/ledger.ts'
import { withRoomForNodes } from '../quotas.ts'
import type { OrgAt } from '../targets.ts'
import { trailerOf } from '../via.ts'
import { toNode } from './nodes.ts'
import { nodeExistsError, refuseTaken } from './taken-ids.ts'

export interface NodeInput extends NodeFields {
  readonly text_content?: string
  readonly parents?: readonly string[]
  readonly initialize?: boolean
  readonly id?: string
}

/** The files of a commit, by path. */
export type NodeFiles = ReadonlyMap<string, Buffer>

/**
 * Creates a node. Builds the repository under a temporary name and renames it into place; the rename is the commit
 * point.
 *
 * @throws AppError node_exists, quota_exceeded
 * @throws ValidationError parents break the graph's rules, or there is content without a first commit
 */
export async function createNode(deps: Deps, actor: Person, at: OrgAt, input: NodeInput) {
  const access = await authorizeOrg(deps, actor, at, 'editor')
  const { parents = [], initialize = true } = input
  requireTitle(input.title)
  if (!initialize) refuseContent(input)

  refuseWrongParents(parents)
  const files = new Map<string, Buffer>([[nodeFile, nodeJson(input)]])
  if (input.text_content !== undefined) files.set(textFile, textBytes(input.text_content))
  for (const parent of parents) files.set(edgeFile('parents', parent), asJson({}))
  const id = await createNodeFrom(deps, actor, access, {
    title: input.title,
    ...(initialize ? { build: (draft: ObjectDraft) => buildTree(draft, null, files) } : {}),
    hasParents: parents.length > 0,
    message: 'Create node',
    ...(input.id === undefined ? {} : { id: input.id.toLowerCase() }),
    locate: (path) => {
      const position = parents.findIndex((parent) => path === edgeFile('parents', parent))
      return position < 0 ? ['body'] : ['body', 'parents', position]
    },
  })
  return readResult(deps, async () => toNode(deps, await authorizeNodeInOrg(deps, access, id, 'public')))
}

/** Refuses parents that are not ids, or the same node twice. @throws ValidationError */
function refuseWrongParents(parents: readonly string[]): void {
  const list = ['body', 'parents']
  const seen = new Map<string, number>()
  for (const [at, parent] of parents.entries()) {
    const same = seen.get(parent)
    if (!isId(parent)) throw invalid([...list, at], `"${excerpt(parent)}" is not the id of a node`, parent)
    if (same !== undefined) throw invalid([...list, at], `${placesOf(list, same, at)} are the same node`, parent)
    seen.set(parent, at)
  }
}

/** Refuses fields that need a first commit. */
function refuseContent(input: NodeInput): void {
  const fields = (['text_content', 'tags', 'properties', 'parents'] as const).filter(
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
  readonly locate: (path: string) => readonly (string | number)[]
}

/** Creates and indexes a node, and returns its id. @throws AppError quota_exceeded, node_exists */
export async function createNodeFrom(
  deps: Deps,
  actor: Person,
  { org }: Pick<OrgAccess, 'org'>,
  seed: NodeSeed,
): Promise<string> {
  const orgId = org.id
  const id = seed.id ?? newId()
  const make = async (take: TakeRoom): Promise<void> => {
    const created_at = deps.now().toISOString()
    await createRepo(nodeRepo(deps.store, orgId, id).dir, async (draft) => {
      const refs = new Map<string, Oid>()
      const earlier = await seed.commits?.(draft)
      if (earlier) refs.set(main, earlier.head)
      else if (seed.build) {
        const tree = await seed.build(draft)
        const node = { id } as NodeRow // problemsOf reads only the id
        refuseProblems(await problemsOf(deps, { org, node }, draft.repo, main, null, tree), seed.locate)
        const person = signature(actor, created_at)
        const message = withVia(seed.message, trailerOf(deps, actor))
        refs.set(main, await draft.commit({ tree, parents: [], author: person, committer: person, message }))
      }
      if (seed.id !== undefined) await refuseTaken(deps, orgId, [id])
      const ledger = await startLedger(draft, { id, org_id: orgId, title: seed.title, created_at }, actor)
      await take(draft.repo.pending?.values() ?? [])
      await noteIntents(deps, actor, [{ id, ref: ledgerRef, to: ledger }])
      return refs.set(ledgerRef, ledger)
    }).catch((error: unknown) => {
      if (isGitError(error, 'repo_exists')) throw nodeExistsError(orgId, id)
      throw error
    })
  }
  const create = (take: TakeRoom) =>
    seed.hasParents
      ? withGraphLock(deps, orgId, id, () => make(take))
      : withNodeIntent(deps, orgId, [id], async () => {
          await make(take)
          await tryIndexNode(deps, orgId, id)
        })
  await withRoomForNodes(deps, orgId, 1, () => withByteRoom(deps, orgId, create))
  return id
}

/** Builds the tree of exactly these files on the draft, from `before` (null: from nothing). */
export async function buildTree(draft: ObjectDraft, before: Oid | null, files: NodeFiles): Promise<Oid> {
  const old = before === null ? [] : await listFiles(draft.repo, before)
  const gone = old.filter(({ path }) => !files.has(path)).map(({ path }) => ({ path, blob: null }))
  const wanted = await Promise.all([...files].map(async ([path, bytes]) => ({ path, blob: await draft.blob(bytes) })))
  return applyChanges(draft, before, [...gone, ...wanted])
}
