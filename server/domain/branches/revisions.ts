/** Resolves a branch, a tag or a commit id to its commit and tree. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type BranchName, parseBranchName } from '../../../gitstore/names.ts'
import { findCommit, readCommit } from '../../../gitstore/objects/commits.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import { isOid, type Oid, type Repo } from '../../../gitstore/repo.ts'
import { isProposed } from '../../../index/derived/node-queries.ts'
import { AppError, invalid, type Problem } from '../../base/errors.ts'
import { excerpt } from '../../base/excerpt.ts'
import type { NodeAccess } from '../access.ts'
import { branchRef } from '../layout.ts'
import { commitOfTag, visibleHeads } from './tags.ts'
import { audienceOf, seesRef } from './visible-refs.ts'

/** Tips compared with a commit between two turns of the event loop. */
const tipsPerTurn = 100

/**
 * The head of a branch, by its ref, for a change of it. Null for main of a node without a commit.
 *
 * @throws AppError branch_not_found: the caller sees no such branch
 */
export function resolveHead(access: NodeAccess, branch: string): Oid | null {
  const head = readHead(access, branch)
  if (head || branch === 'main') return head
  throw new AppError('branch_not_found', 'Branch not found')
}

/**
 * Resolves a branch, else a tag, else a commit id. Null for main of a node without a commit.
 *
 * @throws AppError branch_not_found: the caller sees none
 */
export async function resolveRevision(access: NodeAccess, revision: string): Promise<Oid | null> {
  if (revision === 'main') return findHead(access, revision)
  const found = await resolveCommit(access, revision)
  if (found) return found
  throw new AppError('branch_not_found', 'Branch not found')
}

/**
 * Returns the head of a branch. That of main is the row's: it was compared with the refs of all pages that move
 * together. The ref may have moved since, without theirs.
 */
export function findHead(access: NodeAccess, branch: string): Oid | null {
  return branch === 'main' && !isProposed(access.node) ? access.node.head : readHead(access, branch)
}

function readHead({ repo, role }: NodeAccess, branch: string): Oid | null {
  const name = parseBranchName(branch)
  return name && seesRef(audienceOf(role), branchRef(name)) ? readRef(repo, branchRef(name)) : null
}

/** The commit of a branch, tag or id; undefined if the caller sees none. */
export async function resolveCommit(access: NodeAccess, name: string): Promise<Oid | undefined> {
  const { repo, history } = access
  const head = findHead(access, name)
  if (head) return head
  const branch = parseBranchName(name)
  if (branch) {
    const tagged = await commitOfTag(access, branch)
    if (tagged) return tagged
  }
  if (!isOid(name) || !(await findCommit(repo, name))) return undefined
  const tips = await visibleHeads(access)
  if (tips.includes(name)) return name
  for (const [at, tip] of tips.entries()) {
    if (at % tipsPerTurn === tipsPerTurn - 1) await nextTurn()
    if (await history.contains(tip, name)) return name
  }
  return undefined
}

/** Parses a branch name. @throws AppError branch_not_found if it is invalid */
export function requireBranchName(branch: string): BranchName {
  const name = parseBranchName(branch)
  if (!name) throw new AppError('branch_not_found', 'Branch not found')
  return name
}

/** Resolves a revision. @throws AppError `missing`: the caller sees no such branch, tag or commit */
export async function requireCommit(
  access: NodeAccess,
  name: string,
  missing: 'branch_not_found' | 'commit_not_found' = 'branch_not_found',
): Promise<Oid> {
  const oid = await resolveCommit(access, name)
  if (!oid) throw new AppError(missing, `There is no branch, tag or commit ${excerpt(name)}`)
  return oid
}

/**
 * Finds a commit below `head` by its id, or at least 7 characters of it.
 *
 * @param loc the part of the request that has the id
 * @throws AppError commit_not_found (unknown, or not on this branch)
 * @throws ValidationError the abbreviation is ambiguous
 */
export async function requireCommitOf(
  { history }: NodeAccess,
  head: Oid | null,
  id: string,
  loc: Problem['loc'],
): Promise<Oid> {
  const missing = new AppError('commit_not_found', 'Commit not found on this branch')
  if (head === null || !/^[0-9a-f]{7,40}$/.test(id)) throw missing
  if (isOid(id)) {
    if (!(await history.contains(head, id))) throw missing
    return id
  }
  const [found, another] = await history.named(head, id)
  if (!found) throw missing
  if (another) throw invalid(loc, `"${id}" matches several commits; use more characters`, id)
  return found
}

/** Reads the id of a commit's tree. @throws GitError object_missing, object_damaged */
export async function readTree(repo: Repo, commit: Oid): Promise<Oid> {
  return (await readCommit(repo, commit)).tree
}

/** The tree of a commit; null without a commit, or if it does not exist. @throws GitError object_damaged */
export async function findTree(repo: Repo, commit: Oid | null): Promise<Oid | null> {
  return commit === null ? null : ((await findCommit(repo, commit))?.tree ?? null)
}
