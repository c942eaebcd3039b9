/** What a caller names: a branch, a tag or a commit id; the commit that it means, and the tree of that. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type BranchName, parseBranchName } from '../../../gitstore/names.ts'
import { findCommit, readCommit } from '../../../gitstore/objects/commits.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import { isOid, type Oid, type Repo } from '../../../gitstore/repo.ts'
import { AppError } from '../../base/errors.ts'
import type { NodeAccess } from '../access.ts'
import { excerpt } from '../format/excerpt.ts'
import { branchRef } from '../layout.ts'
import { commitOfTag, visibleHeads } from './tags.ts'
import { audienceOf, seesRef } from './visible-refs.ts'

/** Tips compared with a commit between two turns of the event loop. */
const tipsPerTurn = 100

/** The head of a branch visible to the caller; null for main of a node without a commit. @throws AppError branch_not_found */
export function resolveHead(access: NodeAccess, branch: string): Oid | null {
  const head = findHead(access, branch)
  if (head || branch === 'main') return head
  throw new AppError('branch_not_found', 'Branch not found')
}

/** The head of a branch, else the commit of a tag, else the commit of that id. Otherwise as resolveHead. */
export async function resolveRevision(access: NodeAccess, revision: string): Promise<Oid | null> {
  if (revision === 'main') return findHead(access, revision)
  const found = await resolveCommit(access, revision)
  if (found) return found
  throw new AppError('branch_not_found', 'Branch not found')
}

function findHead({ repo, role }: NodeAccess, branch: string): Oid | null {
  const name = parseBranchName(branch)
  return name && seesRef(audienceOf(role), branchRef(name)) ? readRef(repo, branchRef(name)) : null
}

/** The commit that a branch, tag or id names, if the caller may see it; undefined if there is none. */
export async function resolveCommit(access: NodeAccess, name: string): Promise<Oid | undefined> {
  const { repo, history } = access
  const head = findHead(access, name)
  if (head) return head
  const branch = parseBranchName(name)
  if (branch) {
    const tagged = await commitOfTag(repo, branch)
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

/** @throws AppError branch_not_found for an invalid branch name */
export function requireBranchName(branch: string): BranchName {
  const name = parseBranchName(branch)
  if (!name) throw new AppError('branch_not_found', 'Branch not found')
  return name
}

/** @throws AppError `missing`: the caller sees no such branch, tag or commit */
export async function requireCommit(
  access: NodeAccess,
  name: string,
  missing: 'branch_not_found' | 'commit_not_found' = 'branch_not_found',
): Promise<Oid> {
  const oid = await resolveCommit(access, name)
  if (!oid) throw new AppError(missing, `There is no branch, tag or commit ${excerpt(name)}`)
  return oid
}

/** @throws GitError object_missing, object_damaged */
export async function readTree(repo: Repo, commit: Oid): Promise<Oid> {
  return (await readCommit(repo, commit)).tree
}

/** Null for no commit, and where there is no commit of that id. @throws GitError object_damaged */
export async function findTree(repo: Repo, commit: Oid | null): Promise<Oid | null> {
  return commit === null ? null : ((await findCommit(repo, commit))?.tree ?? null)
}
