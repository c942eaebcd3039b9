/** Branches: refs with rules. */
import { readCommit } from '../../gitstore/commits.ts'
import { GitError } from '../../gitstore/errors.ts'
import type { History } from '../../gitstore/history.ts'
import { asBranchName, type BranchName, branchNameProblem } from '../../gitstore/names.ts'
import { type Move, transact } from '../../gitstore/ref-transaction.ts'
import { listRefs } from '../../gitstore/refs.ts'
import type { Oid, Repo } from '../../gitstore/repo.ts'
import type { Deps } from '../deps.ts'
import { invalid, Refusal } from '../errors.ts'
import { nodeFor, requireStill } from './access.ts'
import type { Actor, Person } from './actor.ts'
import { timeOf } from './authors.ts'
import { problemsOf, refuseProblems } from './branch-moves.ts'
import { findNamedCommit, headFor } from './contents.ts'
import { followNode, followSoon, readBack } from './follow.ts'
import { appendPull, type PullRecord, readPull } from './ledger.ts'
import { type Page, pageOf, slice } from './pages.ts'
import { ledgerRef, pinRef } from './places.ts'
import { endedBy, frozen } from './pulls/pull-ledger.ts'

export interface Branch {
  readonly name: string
  readonly head: Oid
  readonly message: string
  readonly updated_at: string
}

/** By name. The public sees main alone. */
export async function listBranches(deps: Deps, actor: Actor, orgId: string, nodeId: string, page: Page) {
  const { repo, role } = await nodeFor(deps, actor, orgId, nodeId, 'public')
  const heads = [...listRefs(repo, 'refs/heads/')].map(
    ([ref, head]) => [ref.slice('refs/heads/'.length), head] as const,
  )
  const visible = heads.filter(([name]) => role !== null || name === 'main')
  const branches = await Promise.all(slice(visible, page).map(([name, head]) => toBranch(repo, name, head)))
  return { branches, ...pageOf(page, visible.length) }
}

export async function readBranch(
  deps: Deps,
  actor: Actor,
  orgId: string,
  nodeId: string,
  branch: string,
): Promise<Branch> {
  const access = await nodeFor(deps, actor, orgId, nodeId, 'public')
  const head = headFor(access, branch)
  if (!head) throw new Refusal('branch_not_found', 'Branch not found')
  return toBranch(access.repo, branch, head)
}

/** @throws Refusal branch_exists, branch_name_taken; Invalid: a name that git or Grove refuses, a start that is not there */
export async function createBranch(
  deps: Deps,
  actor: Person,
  orgId: string,
  nodeId: string,
  input: { name: string; from?: string },
): Promise<Branch> {
  const access = await nodeFor(deps, actor, orgId, nodeId, 'editor')
  const { repo } = access
  const name = asBranchName(input.name)
  if (!name) throw invalid(['body', 'name'], `name ${branchNameProblem(input.name) ?? 'is not valid'}`, input.name)
  const from = await findNamedCommit(access, input.from ?? 'main')
  if (!from) throw invalid(['body', 'from'], 'names no branch or commit of this node', input.from ?? 'main')
  const ref = `refs/heads/${name}`
  const { tree } = await readCommit(repo, from)
  refuseProblems(await problemsOf(deps, access, repo, ref, null, tree), () => ['body', 'from'])
  await transact(deps.store, [{ repo, ref }], async (current) => {
    if (current({ repo, ref })) throw new Refusal('branch_exists', 'A branch of this name exists')
    await requireStill(deps, actor, orgId, 'editor')
    return { moves: [{ repo, ref, to: from }], value: undefined }
  }).catch((error: unknown) => {
    if (!(error instanceof GitError) || error.code !== 'ref_name_taken') throw error
    throw new Refusal('branch_name_taken', 'Git cannot have a branch a beside a branch a/b; one of that kind exists')
  })
  await followSoon(deps, orgId, nodeId)
  return readBack(deps, () => toBranch(repo, name, from))
}

/** Closes the requests from the branch, keeping their heads; requests into it go to main or are closed. */
export async function deleteBranch(
  deps: Deps,
  actor: Person,
  orgId: string,
  nodeId: string,
  branch: string,
): Promise<void> {
  for (;;) {
    const { repo, history, node } = await nodeFor(deps, actor, orgId, nodeId, 'editor')
    const name = asBranchName(branch)
    if (!name || !listRefs(repo, 'refs/heads/').has(`refs/heads/${name}`))
      throw new Refusal('branch_not_found', 'Branch not found')
    if (name === 'main') throw new Refusal('branch_protected', 'main cannot be deleted')
    const rows = await deps.index.read
      .selectFrom('pull')
      .select(['number', 'source_branch', 'target_branch'])
      .where('node_id', '=', nodeId)
      .where('status', '=', 'open')
      .execute()
    const touched = rows
      .filter((row) => row.source_branch === name || row.target_branch === name)
      .map((row) => row.number)
    if (await removeBranch(deps, actor, { repo, history, ledger: node.ledger, orgId }, name, rows, touched)) break
  }
  await readBack(deps, () => followNode(deps, orgId, nodeId))
}

interface Place {
  readonly repo: Repo
  readonly history: History
  /** The ledger that the requests were read from. */
  readonly ledger: Oid
  readonly orgId: string
}

type Pair = Pick<PullRecord, 'number' | 'source_branch' | 'target_branch'>

/** One transaction: pins, the branch, the ledger. False if a request was opened meanwhile. */
async function removeBranch(
  deps: Deps,
  actor: Person,
  place: Place,
  name: BranchName,
  open: readonly Pair[],
  touched: readonly number[],
): Promise<boolean> {
  const { repo } = place
  const branch = { repo, ref: `refs/heads/${name}` }
  const ledger = { repo, ref: ledgerRef }
  const pins = touched.map((number) => ({ repo, ref: pinRef(number) }))
  return transact(deps.store, [branch, ledger, ...pins], async (current) => {
    const head = current(branch)
    const before = current(ledger)
    if (!head) throw new Refusal('branch_not_found', 'Branch not found')
    if (!before || before !== place.ledger) return { moves: [], value: false }
    await requireStill(deps, actor, place.orgId, 'editor')
    const moves: Move[] = []
    const event = { by: { name: actor.name, email: actor.email }, at: deps.now().toISOString() }
    let tip = before
    for (const number of touched) {
      const after = await withoutBranch(place, { ...(await readPull(repo, tip, number)), ...event }, name, open)
      if (after.status === 'closed') moves.push({ repo, ref: pinRef(number), to: after.source_commit })
      tip = await appendPull(repo, tip, after.status === 'closed' ? 'close' : 'edit', after)
    }
    moves.push({ ...branch, to: null })
    if (tip !== before) moves.push({ ...ledger, to: tip })
    return { moves, value: true }
  })
}

/** A request from or into a branch that is being deleted. */
export async function withoutBranch(
  place: Pick<Place, 'repo' | 'history'>,
  record: PullRecord,
  name: string,
  open: readonly Pair[],
): Promise<PullRecord> {
  const { source_branch, by, at } = record
  const taken = open.some((other) => other.source_branch === source_branch && other.target_branch === 'main')
  if (source_branch !== name && source_branch !== 'main' && !taken) return { ...record, target_branch: 'main' }
  return endedBy(await frozen(place, record), 'closed', by, at)
}

async function toBranch(repo: Repo, name: string, head: Oid): Promise<Branch> {
  const commit = await readCommit(repo, head)
  return { name, head, message: commit.message.replace(/\n$/, ''), updated_at: timeOf(commit.committer) }
}
