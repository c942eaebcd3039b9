/** `grove erase`: erases words, names or reviewed heads from the history of ledgers. */
import { isOid } from '../../../gitstore/repo.ts'
import { repoExists } from '../../../gitstore/repo-folders.ts'
import type { Deps } from '../../base/deps.ts'
import { plural } from '../../base/plural.ts'
import { operator } from '../../domain/actor.ts'
import { authorOf } from '../../domain/format/signatures.ts'
import { listNodes, listOrgs } from '../../domain/indexing/stored-repositories.ts'
import { isId, nodeRepo } from '../../domain/layout.ts'
import type { ErasureTarget } from '../../domain/review/erased-list.ts'
import { eraseFromLedger } from '../../domain/review/erasure.ts'
import type { NodeAt } from '../../domain/targets.ts'
import { type Call, printLine, requireFolder, requireOrgId, UsageError, withDeps } from './command.ts'

export interface EraseOptions {
  /** An id, or `<org id>/<node id>`. */
  readonly node?: string
  /** All nodes of the organisation in turn. */
  readonly org?: string
  /** `<number>/<entry>`. */
  readonly entry?: string
  readonly pull?: string
  readonly person?: string
  readonly head?: string
}

/** How long to wait for the maintenance of a repository, in milliseconds. */
const patienceMs = 20 * 60_000

/** Erases the target. Returns 1 if a branch still has a head, or a node could not be rewritten. */
export async function erase(call: Call, options: EraseOptions): Promise<number> {
  const target = targetOf(options)
  if ((options.node === undefined) === (options.org === undefined)) throw new UsageError('Use either --node or --org')
  if (options.org !== undefined && !('person' in target)) throw new UsageError('--org needs --person')
  await requireFolder(call.config.dataDir)
  return withDeps(call, async (deps) => {
    const nodes = await nodesOf(deps, options)
    let code = 0
    for (const at of nodes) {
      call.signal.throwIfAborted()
      try {
        if (!(await eraseOne(deps, at, target, call.signal))) code = 1
      } catch (error) {
        call.signal.throwIfAborted()
        printLine(`${at.orgId}/${at.nodeId}: ${error instanceof Error ? error.message : error}; run the command again`)
        code = 1
      }
    }
    for (const line of unreached) printLine(line)
    return code
  })
}

const unreached = [
  'Not erased: copies of the repository in clones, mirrors and backups, and e-mails and webhooks that were sent.',
  'Not erased: what others have quoted, and files on the branches of the node.',
] as const

/** Returns false if a branch still has the head. */
async function eraseOne(deps: Deps, at: NodeAt, target: ErasureTarget, signal: AbortSignal): Promise<boolean> {
  const name = `${at.orgId}/${at.nodeId}`
  const { rewritten, removed, heldBy } = await eraseFromLedger(deps, at, {
    target,
    by: { ...authorOf(operator) },
    signal,
    patienceMs,
  })
  for (const ref of heldBy) printLine(`${name}: nothing was erased, because ${ref} still has the head`)
  if (heldBy.length > 0) return false
  const commits = rewritten === 0 ? 'nothing to rewrite' : `${plural(rewritten, 'commit')} rewritten`
  printLine(`${name}: ${commits}, ${plural(removed, 'object')} removed`)
  return true
}

/** @throws UsageError */
function targetOf({ entry, pull, person, head }: EraseOptions): ErasureTarget {
  const given = [entry, pull, person, head].filter((one) => one !== undefined)
  if (given.length !== 1) throw new UsageError('Use one of --entry, --pull, --person and --head')
  if (entry !== undefined) {
    const [, number, k] = /^([1-9]\d{0,8})\/([1-9]\d{0,5})$/.exec(entry) ?? []
    if (number === undefined) throw new UsageError(`--entry must be NUMBER/ENTRY: ${entry}`)
    return { number: Number(number), entry: Number(k) }
  }
  if (pull !== undefined) {
    if (!/^[1-9]\d{0,8}$/.test(pull)) throw new UsageError(`--pull must be the number of a pull request: ${pull}`)
    return { number: Number(pull) }
  }
  if (person !== undefined) {
    if (!isId(person.toLowerCase())) throw new UsageError(`--person must be a user id: ${person}`)
    return { person: person.toLowerCase() }
  }
  if (!isOid(head ?? '')) throw new UsageError(`--head must be the whole id of a commit: ${head}`)
  return { head: head ?? '' }
}

/** @throws UsageError the node or the organisation is not in this data folder */
async function nodesOf(deps: Deps, { node, org }: EraseOptions): Promise<NodeAt[]> {
  if (org !== undefined) {
    const orgId = requireOrgId(org)
    const ids = await listNodes(deps, orgId)
    const found = ids.map((nodeId) => ({ orgId, nodeId })).filter((at) => isHere(deps, at))
    if (found.length === 0) throw new UsageError(`There is no node of ${orgId} in this data folder`)
    return found
  }
  const [nodeId = '', named] = (node ?? '')
    .toLowerCase()
    .replace(/\.git$/, '')
    .split('/')
    .reverse()
  const isName = isId(nodeId) && (named === undefined || isId(named)) && (node ?? '').split('/').length <= 2
  if (!isName) throw new UsageError(`${node} is not NODE_ID or ORG_ID/NODE_ID`)
  const orgs = named === undefined ? await listOrgs(deps) : [named]
  const at = orgs.map((orgId) => ({ orgId, nodeId })).find((one) => isHere(deps, one))
  if (!at) throw new UsageError(`${node} is not in this data folder; a deleted node must be restored first`)
  return [at]
}

function isHere({ store }: Deps, { orgId, nodeId }: NodeAt): boolean {
  return repoExists(nodeRepo(store, orgId, nodeId))
}
