/** `grove erase`: erases words, names or reviewed heads from the history of ledgers. */
import { readRef } from '../../../gitstore/refs/refs.ts'
import { isOid } from '../../../gitstore/repo.ts'
import { repoExists } from '../../../gitstore/repo-folders.ts'
import { AppError, statusOf } from '../../base/errors.ts'
import { plural } from '../../base/plural.ts'
import { operator } from '../../domain/actor.ts'
import { audit } from '../../domain/audit/audit.ts'
import { authorOf } from '../../domain/format/signatures.ts'
import { listNodes, listOrgs } from '../../domain/indexing/stored-repositories.ts'
import { isId, ledgerIn, orgRepo, ownerRepo } from '../../domain/layout.ts'
import { type ErasureTarget, wasErased } from '../../domain/review/erased-list.ts'
import { eraseFromLedger } from '../../domain/review/erasure.ts'
import { requireTarget } from '../../domain/review/erasure-targets.ts'
import type { Services } from '../../domain/services.ts'
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

/** Erases the target. Returns 1 if it is not there, a branch still has a head, or a node could not be rewritten. */
export async function erase(call: Call, options: EraseOptions): Promise<number> {
  const target = targetOf(options)
  if ((options.node === undefined) === (options.org === undefined)) throw new UsageError('Use either --node or --org')
  if (options.org !== undefined && !('person' in target)) throw new UsageError('--org needs --person')
  await requireFolder(call.config.dataDir)
  return withDeps(call, async (deps) => {
    const nodes = await nodesOf(deps, options)
    let code = 0
    const count = { erased: 0, before: 0 }
    for (const at of nodes) {
      call.signal.throwIfAborted()
      try {
        const outcome = await eraseOne(deps, at, target, call.signal)
        if (outcome === 'erased') count.erased++
        if (outcome === 'erased before') count.before++
        // Most nodes of an organisation may not name a user.
        if (outcome === 'refused' || (outcome === 'absent' && options.org === undefined)) code = 1
      } catch (error) {
        call.signal.throwIfAborted()
        printLine(`${at.org_id}/${at.node_id}: ${explain(error)}`)
        code = 1
      }
    }
    if (options.org !== undefined) printLine(sum(nodes.length, count))
    for (const line of unreached) printLine(line)
    return code
  })
}

const unreached = [
  'Not erased: copies of the repository in clones, mirrors and backups, and e-mails and webhooks that were sent.',
  'Not erased: what others have quoted, and files on the branches of the node.',
] as const

/** Says in how many ledgers a user was named. */
function sum(ledgers: number, { erased, before }: { readonly erased: number; readonly before: number }): string {
  const earlier = before > 0 ? `, and ${before} did before an earlier erasure` : ''
  const advice = erased + before === 0 ? '; check the id' : ''
  return `${erased} of ${plural(ledgers, 'ledger')} named the user${earlier}${advice}`
}

/** Says what went wrong and what to do. */
function explain(error: unknown): string {
  if (error instanceof AppError && statusOf[error.code] === 404) return error.message
  return `${error instanceof Error ? error.message : error}; run the command again`
}

/** `refused`: a branch still has the head. `absent`: nothing names the user. */
type Outcome = 'erased' | 'erased before' | 'refused' | 'absent'

async function eraseOne(deps: Services, at: NodeAt, target: ErasureTarget, signal: AbortSignal): Promise<Outcome> {
  const name = `${at.org_id}/${at.node_id}`
  const repo = ownerRepo(deps.store, at.org_id, at.node_id)
  await requireTarget(repo, target)
  const { rewritten, removed, heldBy } = await eraseFromLedger(deps, at, {
    target,
    by: { ...authorOf(operator) },
    signal,
    patienceMs,
  })
  for (const ref of heldBy) printLine(`${name}: nothing was erased, because ${ref} still has the head`)
  if (heldBy.length > 0) return 'refused'
  if (rewritten + removed > 0)
    await audit(deps, {
      ...{ action: 'text.erased', actor: operator, orgId: at.org_id, nodeId: at.node_id },
      detail: { ...target, commits: rewritten },
    })
  const objects = `${plural(removed, 'object')} removed`
  if (rewritten > 0) {
    printLine(`${name}: ${plural(rewritten, 'commit')} rewritten, ${objects}`)
    return 'erased'
  }
  const isRepeated = await wasErased(repo, target)
  if (!isRepeated && 'person' in target) {
    printLine(`${name}: nothing in the ledger names the user ${target.person}; check the id`)
    return 'absent'
  }
  const absent = 'head' in target ? 'the ledger does not have it' : 'it has no text'
  const why = isRepeated ? 'it was erased before' : absent
  printLine(`${name}: nothing to rewrite, because ${why}; ${objects}`)
  return 'erased before'
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
async function nodesOf(deps: Services, { node, org }: EraseOptions): Promise<NodeAt[]> {
  if (org !== undefined) {
    const orgId = requireOrgId(org)
    const ids = await listNodes(deps, orgId)
    const { repo, ref } = ledgerIn(orgRepo(deps.store, orgId))
    const sets = repoExists(repo) && readRef(repo, ref) !== null ? [orgId] : []
    const found = [...ids, ...sets].map((node_id) => ({ org_id: orgId, node_id })).filter((at) => isHere(deps, at))
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
  const at = orgs.map((org_id) => ({ org_id, node_id: nodeId })).find((one) => isHere(deps, one))
  if (!at) throw new UsageError(`${node} is not in this data folder; a deleted node must be restored first`)
  return [at]
}

function isHere({ store }: Services, { org_id: orgId, node_id: nodeId }: NodeAt): boolean {
  return repoExists(ownerRepo(store, orgId, nodeId))
}
