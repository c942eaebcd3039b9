/**
 * The rules that a push must follow for each ref. Content is checked before any lock, and the position of the ref under
 * the lock. The numbers of branches and of tags are limited, because lists and comparisons read all of them.
 */
import { branchNameProblem, treePathProblem } from '../../../gitstore/names.ts'
import { findCommit } from '../../../gitstore/objects/commits.ts'
import { diffTrees } from '../../../gitstore/objects/diff.ts'
import { hasObject } from '../../../gitstore/objects/objects.ts'
import { emptyTree } from '../../../gitstore/objects/trees.ts'
import { listRefs, readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import type { RefCommand } from '../../../gitstore/transfer/proc-receive.ts'
import { createYielder } from '../../../gitstore/yielder.ts'
import { listOpenPulls } from '../../../index/derived/pulls.ts'
import { excerpt } from '../../base/excerpt.ts'
import * as limits from '../../base/limits.ts'
import { requireRole } from '../access.ts'
import { findClosedMain } from '../consent/rule-checks.ts'
import { type ContentProblem, toProblemLine } from '../format/path-problem.ts'
import { branchRefs, main } from '../layout.ts'
import { refuseProposed } from './agent-moves.ts'
import { problemsOf } from './branch-commits.ts'
import { findCollisions } from './content-rules.ts'
import { type LockedPush, type PushContext, PushRejectedError, StaleRefError } from './push-context.ts'
import { findTree } from './revisions.ts'
import { checkLockedRules, checkRules } from './ruled-pushes.ts'

/** The reason why this ref name cannot be pushed; undefined if it can. */
export function findRefProblem(ref: string): string | undefined {
  const [, kind, name = ''] = /^refs\/(heads|tags)\/(.+)$/s.exec(ref) ?? []
  if (kind === undefined) return 'only branches and tags can be pushed (refs/heads/ and refs/tags/)'
  const problem = branchNameProblem(name)
  return kind === 'tags' ? problem?.replace('branch', 'tag') : problem
}

/**
 * Checks the new value of a ref with a valid name, before any lock.
 *
 * @throws PushRejectedError, StaleRefError; AppError forbidden, token_scope
 */
export async function checkRef(context: PushContext, command: RefCommand): Promise<void> {
  const { ref, from, to } = command
  requireRole(context.access, { ref })
  if (readRef(context.access.repo, ref) !== from) throw new StaleRefError()
  if (ref.startsWith(branchRefs)) await checkBranch(context, command)
  else if (to !== null && !(await hasObject(context.access.repo, to)))
    throw new PushRejectedError('the tag points to an object that does not exist')
}

/**
 * Checks, under the locks, everything that may have changed since `checkRef`.
 *
 * @throws PushRejectedError, StaleRefError; AppError forbidden, token_scope
 */
export async function checkLockedRef(context: LockedPush, command: RefCommand): Promise<void> {
  const { person, access, rights, current, open } = context
  const { ref, from, to } = command
  requireRole(rights, { ref })
  if (current({ repo: access.repo, ref }) !== from) throw new StaleRefError()
  refuseProposed(person, open, { ref, isDeleted: to === null })
  await checkLockedRules(context, command)
}

async function checkBranch({ deps, person, access }: PushContext, { ref, from, to }: RefCommand): Promise<void> {
  const { repo, history } = access
  const closed = findClosedMain(access, ref)
  if (closed !== undefined) {
    const [item] = await listOpenPulls(deps.index.read, access.node.id)
    throw new PushRejectedError(item ? `this page is proposed; push to ${excerpt(item.source_branch)}` : closed)
  }
  if (to === null) {
    if (ref === main) throw new PushRejectedError('`main` cannot be deleted')
    return
  }
  const commit = await findCommit(repo, to)
  if (!commit) throw new PushRejectedError('a branch must point to a commit')
  if (ref === main && from !== null && !(await history.contains(to, from)))
    throw new PushRejectedError('`main` cannot be rewound (non-fast-forward). Pull first, then push')
  const before = await findTree(repo, from ?? readRef(repo, main))
  const paths = await pathProblems(repo, before, commit.tree)
  const content = await problemsOf(deps, access, repo, ref, before, commit.tree)
  const problems = [...paths, ...content]
  const [first] = problems
  const linesOf = () => (ref === main && commit.tree === emptyTree ? [proposeDeletionLine] : [])
  if (first) throw new PushRejectedError(toProblemLine(first), { problems, linesOf })
  await checkRules({ deps, person, access }, { ref, from, to })
}

const proposeDeletionLine = 'Propose the deletion: git push origin HEAD:sets/new'

/**
 * Finds new paths that are invalid, or collide with another name in their folder. If `before` is null, a whole
 * repository moves in. Collisions are then accepted, because its history already has them.
 */
export async function pathProblems(repo: Repo, before: Oid | null, after: Oid): Promise<ContentProblem[]> {
  const pace = createYielder()
  const changes = await diffTrees(repo, before, after, pace)
  const added = changes.filter((change) => change.old === null).map(({ path }) => path)
  const problems: ContentProblem[] = []
  for (const path of added) {
    const reason = treePathProblem(path)
    if (reason !== undefined) problems.push({ path, reason })
    if (pace.shouldYield(1)) await pace.yieldToEventLoop()
  }
  if (before === null) return problems
  const collisions = (await findCollisions(repo, before, after, added)).map(({ path, names: [other] }) => ({
    path,
    reason: `The name differs from ${excerpt(other)} only in case`,
  }))
  return [...problems, ...collisions]
}

type RefKind = 'heads' | 'tags'

/** The number of refs that may still be created. Concurrent requests may each take the last one. */
export function countRefRoom(repo: Repo, kind: RefKind): number {
  return limits.refs - listRefs(repo, `refs/${kind}/`).size
}

/** The end of a sentence about a node that has too many refs. */
export function tooManyRefsMessage(kind: RefKind): string {
  return `has ${limits.refs} ${kind === 'heads' ? 'branches' : 'tags'}, which is the limit; delete some first`
}
