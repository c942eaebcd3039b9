/** What a push may do to a ref, judged under its lock (contract §2–4, reliability.md §2). */
import { findCommit } from '../../gitstore/commits.ts'
import { diffTrees } from '../../gitstore/diff.ts'
import { branchNameProblem, treePathProblem } from '../../gitstore/names.ts'
import { hasObject } from '../../gitstore/objects.ts'
import type { Current } from '../../gitstore/ref-transaction.ts'
import type { Oid, Repo } from '../../gitstore/repo.ts'
import type { RefCommand } from '../../gitstore/transport.ts'
import type { Deps } from '../deps.ts'
import { type NodeAccess, requireStill } from './access.ts'
import type { Person } from './actor.ts'
import { problemsOf } from './branch-moves.ts'
import { collisionsOf } from './collisions.ts'
import type { ContentProblem } from './entities.ts'
import type { PullRecord } from './ledger.ts'
import { main } from './places.ts'

/** Why a ref stays where it is: in one line for git's report, in several for the person. */
export class Rejected extends Error {
  readonly problems: readonly ContentProblem[]

  constructor(reason: string, problems: readonly ContentProblem[] = []) {
    super(reason)
    this.name = 'Rejected'
    this.problems = problems
  }
}

/** What judges a push beside the push itself. */
export interface PushPlace {
  readonly deps: Deps
  readonly person: Person
  readonly access: NodeAccess
  readonly current: Current
  /** Every open request of the node. */
  readonly open: readonly PullRecord[]
}

/** Why the ref cannot be pushed, whatever it points at. */
export function refProblem(ref: string): string | undefined {
  const [, kind, name = ''] = /^refs\/(heads|tags)\/(.+)$/s.exec(ref) ?? []
  if (kind === undefined) return 'only refs/heads/ and refs/tags/ can be pushed'
  const problem = branchNameProblem(name)
  return kind === 'tags' ? problem?.replace('branch', 'tag') : problem
}

/** A ref without a `refProblem`. @throws Rejected; Refusal forbidden */
export async function judge(place: PushPlace, command: RefCommand): Promise<void> {
  const { ref, from } = command
  const { repo } = place.access
  if (place.current({ repo, ref }) !== from) throw new Rejected('it has moved meanwhile; fetch first')
  if (ref.startsWith('refs/heads/')) await judgeBranch(place, command)
  else if (command.to !== null && !(await hasObject(repo, command.to))) throw new Rejected('the tag names no object')
}

async function judgeBranch(place: PushPlace, { ref, from, to }: RefCommand): Promise<void> {
  const { deps, person, access } = place
  const { repo, history } = access
  if (to === null) {
    if (ref === main) throw new Rejected('main cannot be deleted')
    return
  }
  const commit = await findCommit(repo, to)
  if (!commit) throw new Rejected('a branch points at a commit')
  if (ref === main && from !== null) {
    if (!(await history.contains(to, from))) throw new Rejected('main only moves forward: rebase onto it, or merge it')
    if (access.org.require_pull_requests) {
      if (!place.open.some((record) => isHeadOf(place, record, to)))
        throw new Rejected('main of this organisation moves only to the head of an open pull request')
      await requireStill(deps, person, access.org.id, 'maintainer')
    }
  }
  const before = await treeOf(repo, from ?? place.current({ repo, ref: main }))
  const paths = await pathProblems(repo, before, commit.tree)
  const content = await problemsOf(deps, access, repo, ref, ref === main ? await treeOf(repo, from) : null, commit.tree)
  const problems = [...paths, ...content]
  const [first] = problems
  if (first) throw new Rejected(`${first.path}: ${first.reason}`, problems)
}

function isHeadOf({ access, current }: PushPlace, { is_draft, source_branch, target_branch }: PullRecord, to: Oid) {
  const source = current({ repo: access.repo, ref: `refs/heads/${source_branch}` })
  return !is_draft && `refs/heads/${target_branch}` === main && source === to
}

/** Null where there is no commit of that id. */
export async function treeOf(repo: Repo, oid: Oid | null): Promise<Oid | null> {
  return oid === null ? null : ((await findCommit(repo, oid))?.tree ?? null)
}

/**
 * Paths that are new against `before` and that no tree may hold, or that fold together with another of their folder. A
 * repository that moves in whole (`before` is null) keeps names that fold together: its history has them already.
 */
async function pathProblems(repo: Repo, before: Oid | null, after: Oid): Promise<ContentProblem[]> {
  const changes = await diffTrees(repo, before, after)
  const added = changes.filter((change) => change.old === null).map(({ path }) => path)
  const problems = added.flatMap((path) => {
    const reason = treePathProblem(path)
    return reason === undefined ? [] : [{ path: printable(path), reason }]
  })
  if (before === null) return problems
  const collisions = (await collisionsOf(repo, before, after, added)).map(({ path, names: [other] }) => ({
    path,
    reason: `differs from ${other} in case only`,
  }))
  return [...problems, ...collisions]
}

/** A name for a terminal, which must not obey what is in it. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Surrogate}]/gu, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
