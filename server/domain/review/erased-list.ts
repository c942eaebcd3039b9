/**
 * The list of what was erased from a ledger, `erased/<node id>.json` in org.git. That of change sets has the id of
 * the organisation. A restored backup may have it again. Older versions keep the file, and nothing else reads it.
 */
import { z } from 'zod'
import { runGitOrThrow } from '../../../gitstore/native.ts'
import { readCommit } from '../../../gitstore/objects/commits.ts'
import { newObjectBatch } from '../../../gitstore/objects/object-batch.ts'
import { readBlob } from '../../../gitstore/objects/objects.ts'
import { applyChanges } from '../../../gitstore/objects/tree-changes.ts'
import { findEntry, readTree } from '../../../gitstore/objects/trees.ts'
import { updateRefs } from '../../../gitstore/refs/ref-transaction.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { isOid } from '../../../gitstore/repo.ts'
import * as limits from '../../base/limits.ts'
import { erasedFile, erasedFolder } from '../format/paths.ts'
import { type Author, asJson, signature } from '../format/signatures.ts'
import { isId, ledgerIn, main, orgRepo, ownerRepo } from '../layout.ts'
import { indexChangedOrg } from '../orgs/org-changes.ts'
import type { Services } from '../services.ts'
import type { NodeAt } from '../targets.ts'

/** The target of an erasure: an entry, a pull request, a user, or a head. */
export type ErasureTarget =
  | { readonly number: number; readonly entry: number }
  | { readonly number: number }
  | { readonly person: string }
  | { readonly head: Oid }

const positive = z.int().min(1)
const itemSchema = z.union([
  z.object({ number: positive, entry: positive, at: z.iso.datetime() }),
  z.object({ number: positive, at: z.iso.datetime() }),
  z.object({ person: z.string().refine(isId), at: z.iso.datetime() }),
  z.object({ head: z.string().refine(isOid), at: z.iso.datetime() }),
])
const listSchema = z.object({ erased: z.array(itemSchema.or(z.unknown().transform(() => undefined))) })

/** The most bytes of a file that are read. An item has at most 120. */
const maxFileBytes = 262_144

/** The subject of the commit of the ledger. */
export function subjectOf(target: ErasureTarget): string {
  if ('person' in target) return `erase-person ${target.person}`
  if ('head' in target) return `erase-head ${target.head}`
  return 'entry' in target ? `erase ${target.number} ${target.entry}` : `erase-pull ${target.number}`
}

function optionOf(target: ErasureTarget): string {
  if ('person' in target) return `--person ${target.person}`
  if ('head' in target) return `--head ${target.head}`
  return 'entry' in target ? `--entry ${target.number}/${target.entry}` : `--pull ${target.number}`
}

/** Adds an item to the list, in a commit of org.git. An item that is there stays. @throws AppError outcome_unknown */
export async function listErased(
  deps: Services,
  { org_id: orgId, node_id: nodeId }: NodeAt,
  target: ErasureTarget,
  by: Author,
): Promise<void> {
  const repo = orgRepo(deps.store, orgId)
  const at = deps.now().toISOString()
  const isListed = await updateRefs(deps.store, [{ repo, ref: main }], async (current) => {
    const head = current({ repo, ref: main })
    if (!head) return { moves: [], value: true }
    const { tree } = await readCommit(repo, head)
    const known = await readList(repo, tree, nodeId)
    if (known.some((item) => subjectOf(item) === subjectOf(target))) return { moves: [], value: true }
    const draft = newObjectBatch(repo)
    const erased = [...known, { ...target, at }].slice(-limits.listedErasures)
    const changes = [{ path: erasedFile(nodeId), blob: await draft.blob(asJson({ erased })) }]
    const person = signature(by, at)
    const to = await draft.commit({
      ...{ tree: await applyChanges(draft, tree, changes), parents: [head], author: person, committer: person },
      message: 'erase',
    })
    return { moves: [{ repo, ref: main, to }], value: false, save: draft.save }
  })
  if (!isListed) await indexChangedOrg(deps, orgId)
}

/** Returns an empty list for a file that is missing or was edited by hand. */
async function readList(repo: Repo, tree: Oid, nodeId: string) {
  const file = await findEntry(repo, tree, erasedFile(nodeId))
  if (!file || file.mode === '040000') return []
  try {
    const json: unknown = JSON.parse((await readBlob(repo, file.oid, maxFileBytes)).toString())
    const { data } = listSchema.safeParse(json)
    return (data?.erased ?? []).flatMap((item) => item ?? [])
  } catch (error) {
    if (error instanceof SyntaxError) return []
    throw error
  }
}

/** Something that was erased and is in the ledger again. */
export interface Returned extends NodeAt {
  readonly target: ErasureTarget
  readonly at: string
}

/** Finds listed erasures that the ledgers do not have. */
export async function listReturned(store: Pick<Services['store'], 'root'>, orgId: string): Promise<Returned[]> {
  const repo = orgRepo(store, orgId)
  const head = readRef(repo, main)
  if (!head) return []
  const { tree } = await readCommit(repo, head)
  const folder = await findEntry(repo, tree, erasedFolder)
  const found: Returned[] = []
  for (const { name } of folder?.mode === '040000' ? await readTree(repo, folder.oid) : []) {
    const nodeId = name.replace(/\.json$/, '')
    const node = ownerRepo(store, orgId, nodeId)
    const ledger = isId(nodeId) ? readRef(node, ledgerIn(node).ref) : null
    if (!ledger) continue
    const done = await erasuresOf(node, ledger)
    for (const { at, ...target } of await readList(repo, tree, nodeId))
      if (!done.has(subjectOf(target))) found.push({ org_id: orgId, node_id: nodeId, target, at })
  }
  return found
}

/** The command that erases it again. */
export function commandOf({ org_id: orgId, node_id: nodeId, target }: Returned): string {
  return `grove erase --node ${orgId}/${nodeId} ${optionOf(target)}`
}

/** True if the ledger's history says that exactly this was erased. */
export async function wasErased(repo: Repo, target: ErasureTarget): Promise<boolean> {
  const ledger = readRef(repo, ledgerIn(repo).ref)
  return ledger !== null && (await erasuresOf(repo, ledger)).has(subjectOf(target))
}

/** Returns the subjects of the erasures in a ledger. */
async function erasuresOf(repo: Repo, ledger: Oid): Promise<ReadonlySet<string>> {
  const args = ['log', '--first-parent', '--format=%s', '--grep=^Erased-From: ', ledger, '--']
  const out = await runGitOrThrow(repo, args, { timeoutMs: 10 * 60_000 })
  return new Set(out.toString().split('\n'))
}
