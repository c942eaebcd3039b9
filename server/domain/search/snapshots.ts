/** Reads nodes that differ from main, on another branch or in the past, from Git. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import pLimit from 'p-limit'
import { isGitError } from '../../../gitstore/errors.ts'
import { parseBranchName } from '../../../gitstore/names.ts'
import { readCommit } from '../../../gitstore/objects/commits.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { listNodesWithBranch, type StateNode } from '../../../index/derived/branches.ts'
import { listNodesUpdatedAfter } from '../../../index/derived/node-queries.ts'
import { findOrgRow } from '../../../index/derived/org-queries.ts'
import type { View, ViewNode } from '../../../index/search/ranking/view.ts'
import { AppError, invalid, ValidationError } from '../../base/errors.ts'
import { excerpt } from '../../base/excerpt.ts'
import * as limits from '../../base/limits.ts'
import { timeOf } from '../format/signatures.ts'
import { readState } from '../indexing/node-rows.ts'
import { branchRef, nodeRepo } from '../layout.ts'
import type { Services } from '../services.ts'

/** The state that is searched instead of main. */
export type Snapshot = ({ readonly branch: string } | { readonly at: string }) & {
  /** The place of `branch` or `at` in the request. */
  readonly loc: readonly string[]
}

const rowsATurn = 2_000
const readsAtOnce = 4

/** A node that differs, and the commit at which it is read. */
interface Difference {
  readonly node: StateNode
  readonly repo: Repo
  readonly head: Oid | null
}

/**
 * Reads the state of the organisation's nodes on a branch or at a time. A node without the branch is as on main. At a
 * time, a node is at the newest commit of main's first-parent history that is not dated later. A node that was created
 * later is gone.
 *
 * @throws ValidationError value_error (no node has the branch), scope_too_large
 * @throws AppError org_not_found; GitError as readCommit
 */
export async function readView(deps: Services, orgId: string, elsewhere: Snapshot): Promise<View> {
  const org = await findOrgRow(deps.index.read, orgId)
  if (org === undefined) throw new AppError('org_not_found', 'The organisation has been deleted')
  const { differences, gone } =
    'branch' in elsewhere
      ? { differences: await onBranch(deps, orgId, elsewhere), gone: [] }
      : await atTime(deps, orgId, { ...elsewhere, at: new Date(elsewhere.at).toISOString() })
  const nodes = await readNodes(differences, elsewhere)
  const branch = 'branch' in elsewhere ? { branch: elsewhere.branch } : {}
  return { epoch: org.epoch, version: org.version, ...branch, nodes, gone }
}

async function onBranch(
  deps: Services,
  orgId: string,
  elsewhere: Snapshot & { readonly branch: string },
): Promise<Difference[]> {
  const { branch: name, loc } = elsewhere
  const differences: Difference[] = []
  let after: string | undefined = ''
  for (let isKnown = false; after !== undefined; ) {
    const nodes = await listNodesWithBranch(deps.index.read, orgId, name, after, rowsATurn)
    isKnown ||= nodes.length > 0
    if (!isKnown) throw invalid(loc, `No node has a branch ${excerpt(name)}`, name)
    for (const node of nodes.filter(({ head, branch_head }) => head !== branch_head)) {
      const repo = nodeRepo(deps.store, orgId, node.id)
      const head = headOf(repo, name)
      if (head !== null && head !== node.head) differences.push({ node, repo, head })
      if (differences.length > limits.viewNodes) throw tooLarge(elsewhere)
    }
    after = nodes.length < rowsATurn ? undefined : nodes.at(-1)?.id
    await nextTurn()
  }
  return differences
}

/** The current head of the branch in Git; null if branch or node is gone. */
function headOf(repo: Repo, name: string): Oid | null {
  const branch = parseBranchName(name)
  try {
    return branch === undefined ? null : readRef(repo, branchRef(branch))
  } catch (error) {
    if (isGitError(error, 'repo_missing')) return null
    throw error
  }
}

async function atTime(
  deps: Services,
  orgId: string,
  elsewhere: Snapshot & { readonly at: string },
): Promise<{ differences: Difference[]; gone: string[] }> {
  const { at } = elsewhere
  const gone: string[] = []
  const older: StateNode[] = []
  let last: Awaited<ReturnType<typeof listNodesUpdatedAfter>>[number] | undefined
  do {
    const nodes = await listNodesUpdatedAfter(deps.index.read, orgId, at, last, rowsATurn)
    for (const node of nodes) {
      if (node.created_at > at) gone.push(node.id)
      else older.push(node)
    }
    if (older.length > limits.viewNodes || gone.length > limits.viewNewerNodes) throw tooLarge(elsewhere)
    last = nodes.length < rowsATurn ? undefined : nodes.at(-1)
    await nextTurn()
  } while (last !== undefined)
  const differences: Difference[] = []
  const budget = { commits: limits.viewNewerCommits }
  for (const node of older) {
    const repo = nodeRepo(deps.store, orgId, node.id)
    const head = await unlessGone(() => headAt(repo, node.head, elsewhere, budget))
    if (head !== undefined) differences.push({ node, repo, head })
  }
  return { differences, gone }
}

/** The newest commit of the first-parent history that is not dated after `at`, or null. */
async function headAt(
  repo: Repo,
  newest: Oid | null,
  elsewhere: Snapshot & { readonly at: string },
  budget: { commits: number },
): Promise<Oid | null> {
  for (let head = newest; head !== null; ) {
    if (budget.commits-- === 0) throw tooLarge(elsewhere)
    const { committer, parents } = await readCommit(repo, head)
    if (timeOf(committer) <= elsewhere.at) return head
    head = parents[0] ?? null
  }
  return null
}

/** Undefined if the repository has been deleted in the meantime. The index will follow. */
async function unlessGone<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read()
  } catch (error) {
    if (isGitError(error, 'repo_missing')) return undefined
    throw error
  }
}

async function readNodes(differences: readonly Difference[], elsewhere: Snapshot): Promise<ViewNode[]> {
  const turn = pLimit(readsAtOnce)
  let bytes = 0
  const read = async ({ node, repo, head }: Difference): Promise<ViewNode | undefined> => {
    const state = await unlessGone(() => readState(repo, node.ledger, head))
    if (state === undefined) return undefined
    const { title, tags, created_at, updated_at, content, text } = state
    bytes += Buffer.byteLength(text)
    if (bytes > limits.viewBytes) throw tooLarge(elsewhere)
    const properties = JSON.stringify(content.properties)
    return { id: node.id, title, tags, properties, created_at, updated_at, head, text }
  }
  try {
    const nodes = await Promise.all(differences.map((difference) => turn(() => read(difference))))
    return nodes.filter((node) => node !== undefined)
  } finally {
    turn.clearQueue()
  }
}

function tooLarge({ loc }: Snapshot): ValidationError {
  const msg = `Over ${limits.viewNodes} nodes differ from main, their content has over 16 MiB, or over ${limits.viewNewerCommits} commits or ${limits.viewNewerNodes} nodes are newer`
  return new ValidationError([
    { loc, msg, type: 'scope_too_large', ctx: { nodes: limits.viewNodes, bytes: limits.viewBytes } },
  ])
}
