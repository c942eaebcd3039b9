/** Restores an earlier version of a branch, by a commit with its tree. */

import { type Commit, readCommit } from '../../../gitstore/objects/commits.ts'
import type { Oid } from '../../../gitstore/repo.ts'
import { AppError, ValidationError } from '../../base/errors.ts'
import { authorizeNode, type NodeAccess } from '../access.ts'
import type { Person } from '../actor.ts'
import { readContent } from '../format/node-format.ts'
import { timeOf } from '../format/signatures.ts'
import { readResult } from '../indexing/index-node.ts'
import { branchRef, main } from '../layout.ts'
import type { Ctx } from '../services.ts'
import type { Body, BranchAt, Path } from '../targets.ts'
import { addsParents, commitToBranch, refuseProblems } from './branch-commits.ts'
import { type CommitDetails, readDetails } from './commit-views.ts'
import { findContentProblems } from './content-rules.ts'
import { readOfChange } from './large-reads.ts'
import { pathProblems } from './ref-rules.ts'
import { findTree, readTree, requireBranchName, requireCommitOf, resolveHead } from './revisions.ts'

export interface RestoreInput {
  /** The id of a commit of the branch, or at least 7 characters of it. */
  readonly commit: string
  readonly message?: string
  readonly expected_head?: string | null
}

/** Attempts of a restore that expects no head, on a branch that other writers move. */
const maxAttempts = 10

/** The part of the request that has the version. */
const loc = ['body', 'commit']

/**
 * Commits the tree of an earlier commit of the branch.
 *
 * @throws AppError commit_not_found, and the errors of commitToBranch
 * @throws ValidationError the version breaks a rule, or its id is ambiguous
 */
export async function restoreBranch(
  ctx: Ctx<Person>,
  { path, body }: Path<BranchAt> & Body<RestoreInput>,
): Promise<CommitDetails> {
  const access = await authorizeNode(ctx, path, { ref: branchRef(path.branch) })
  for (let attempt = 1; ; attempt++) {
    try {
      const oid = await attemptRestore(ctx, access, path, body)
      return await readResult(ctx, () => readDetails(access.repo, path.node_id, oid, readOfChange))
    } catch (error) {
      const isMoved = error instanceof AppError && error.code === 'head_moved'
      if (!isMoved || body.expected_head !== undefined || attempt === maxAttempts) throw error
    }
  }
}

/** Compares the version with the head before the branch is locked. The commit then expects that head. */
async function attemptRestore(
  ctx: Ctx<Person>,
  access: NodeAccess,
  { branch: name }: BranchAt,
  { commit: id, message, expected_head }: RestoreInput,
): Promise<Oid> {
  const { repo } = access
  const branch = requireBranchName(name)
  const head = resolveHead(access, branch)
  const version = await readCommit(repo, await requireCommitOf(access, head, id, loc))
  const before = await findTree(repo, head)
  // Reads both contents into the cache before the branch is locked.
  const addsParent = await addsParents(repo, before, version.tree)
  const expectedHead = expected_head === undefined ? head : expected_head
  if (expectedHead === head) refuseProblems(await pathProblems(repo, before, version.tree), () => loc)
  const restored = commitToBranch(ctx, access, {
    branch,
    message: message ?? messageOf(version),
    expectedHead,
    addsParents: addsParent,
    build: async () => version.tree,
    locate: () => loc,
  })
  return restored.catch(async (error: unknown) => {
    if (!(error instanceof ValidationError) || branchRef(branch) !== main) throw error
    throw await withRemedy(access, error, version)
  })
}

/** Adds a remedy to problems that only main has. Such are edges to nodes that were deleted since. */
async function withRemedy({ repo }: NodeAccess, { problems }: ValidationError, version: Commit) {
  const head = await readTree(repo, version.oid)
  const everywhere = findContentProblems(await readContent(repo, null), await readContent(repo, head))
  const lasting = new Set(everywhere.map(({ path }) => path))
  return new ValidationError(
    problems.map((problem) => {
      const { path } = problem.ctx ?? {}
      if (typeof path !== 'string' || lasting.has(path)) return problem
      return { ...problem, msg: `${problem.msg}. ${remedy}` }
    }),
  )
}

const remedy = 'To restore the rest, restore this version on another branch, correct the file there, and merge'

/** Characters of the version's subject in the message. */
const quotedCharacters = 50

function messageOf(version: Commit): string {
  const [line = ''] = version.message.split('\n', 1)
  const letters = [...line.replace(/\p{Cc}+/gu, ' ').trim()]
  const isCut = letters.length > quotedCharacters
  const subject = isCut ? `${letters.slice(0, quotedCharacters).join('').trimEnd()}…` : letters.join('')
  const quoted = subject === '' ? '' : ` “${subject}”`
  const day = timeOf(version.committer).slice(0, 10)
  return `Restore ${version.oid.slice(0, 8)}${quoted}\n\nThe content is again that of commit ${version.oid} of ${day}.`
}
