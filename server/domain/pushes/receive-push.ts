/** Receives a push: checks and moves its refs, each on its own or all together. */
import { GitError } from '../../../gitstore/errors.ts'
import { translateStorageErrors } from '../../../gitstore/refs/ref-transaction.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Repo } from '../../../gitstore/repo.ts'
import type { Push, PushReport, RefCommand } from '../../../gitstore/transfer/proc-receive.ts'
import { syncReceived } from '../../../gitstore/transfer/quarantine.ts'
import { isProposed } from '../../../index/derived/node-queries.ts'
import { pushAnswerOf } from '../../base/error-mapping.ts'
import { AppError } from '../../base/errors.ts'
import { excerpt } from '../../base/excerpt.ts'
import * as limits from '../../base/limits.ts'
import { countRefusal } from '../../metrics/observers.ts'
import type { NodeAccess } from '../access.ts'
import type { Person } from '../actor.ts'
import { PushRejectedError } from '../branches/push-context.ts'
import { findRefProblem } from '../branches/ref-rules.ts'
import { applyRefUpdates } from '../branches/ref-updates.ts'
import type { PullPage, PushUrls } from '../consent/wording.ts'
import { toProblemLine } from '../format/path-problem.ts'
import { printable } from '../format/text-rules.ts'
import { authorizeFresh } from '../indexing/freshness.ts'
import { tryIndexNode } from '../indexing/index-node.ts'
import { branchName, branchRefs, main, nodeRepo } from '../layout.ts'
import type { Reconciled } from '../ledger/reconcile.ts'
import type { Ctx, Services } from '../services.ts'
import type { NodeAt } from '../targets.ts'
import { describeSets, joinsSet, pushIntoSet } from './joining.ts'
import { describeMovedSources } from './moved-sources.ts'
import { describeTypeAdvice } from './type-advice.ts'

/**
 * Refs per transaction, unless the push is atomic. Their locks and the ledger's are held for 0.2 s. Other writers wait
 * for a lock for at most a second.
 */
const refsPerTransaction = 250
/** The most problems listed per ref. */
const maxProblems = 20
/** The outcome of a push. `reasons` is for the log: refusals without the names of files and refs. */
export interface PushOutcome extends PushReport {
  readonly reasons: readonly string[]
}

/** The refusal of refs in an atomic push if one is a folder of another. */
const nameTaken = pushAnswerOf(new GitError('ref_name_taken', 'A ref is a folder of another'))

/**
 * Moves the refs of a push, in the same transactions as REST. `main` comes last, because other refs may be heads of
 * pull requests that main merges. The index is updated before this returns. Throws only faults that do not concern the
 * push.
 */
export async function receivePush(
  ctx: Ctx<Person>,
  at: NodeAt,
  { commands, atomic }: Push,
  urls: PushUrls,
): Promise<PushOutcome> {
  const pageOf = urls.pull
  const repo = nodeRepo(ctx.store, at.org_id, at.node_id)
  let access: NodeAccess
  try {
    await translateStorageErrors(ctx.store, [{ repo }], () => syncReceived(repo))
    // Access is checked again: receiving the pack may have taken minutes.
    access = await authorizeFresh(ctx, at, 'contributor', true)
  } catch (error) {
    const { reason, lines, logged } = explain(ctx, error, pageOf)
    return { refused: new Map(commands.map(({ ref }) => [ref, reason])), lines, reasons: [logged] }
  }
  const refused = refusedNames(commands)
  const lines: string[] = []
  const reasons = new Set(refused.values())
  if (atomic) {
    for (const ref of relatedRefs(commands)) {
      if (!refused.has(ref)) refused.set(ref, nameTaken.reason)
      reasons.add(nameTaken.reason)
    }
    for (const { ref } of commands.length > 1 ? commands.filter(joinsSet) : [])
      refused.set(ref, 'push this branch without --atomic, because its change set moves with it')
    refuseRest(refused, commands)
  }
  const renamed = new Map<string, string>()
  const joined = new Set<number>()
  const named = commands.filter(({ ref }) => !refused.has(ref))
  for (const group of atomic ? [sorted(named)] : groupsOf(named)) {
    const joining = group.find(joinsSet)
    try {
      if (joining) {
        const { ref, number } = await pushIntoSet(ctx, access, joining)
        if (ref !== joining.ref) renamed.set(joining.ref, ref)
        joined.add(number)
        continue
      }
      const outcome = await applyRefUpdates(ctx, access, group, atomic ? 'all or none' : 'each that may')
      lines.push(...linesOf(outcome.events))
      for (const [ref, cause] of outcome.refused) {
        const explained = explain(ctx, cause, pageOf)
        refused.set(ref, explained.reason)
        reasons.add(explained.logged)
        lines.push(...explained.lines.map((line) => `${printable(excerpt(shortName(ref)))}: ${line}`))
      }
      if (atomic) refuseRest(refused, group)
    } catch (error) {
      const explained = explain(ctx, error, pageOf)
      for (const { ref } of group) if (!refused.has(ref)) refused.set(ref, explained.reason)
      reasons.add(explained.logged)
      lines.push(...explained.lines)
    }
  }
  await tryIndexNode(ctx, at.org_id, at.node_id)
  try {
    // The process may have been stopped since its last transaction.
    ctx.store.fence?.after()
  } catch (error) {
    for (const { ref } of named) if (!refused.has(ref)) refused.set(ref, explain(ctx, error, pageOf).reason)
  }
  const moved = named.filter(({ ref }) => !refused.has(ref))
  lines.push(...(await describeTypeAdvice(ctx, access, moved)))
  lines.push(...(await describeSets(ctx, access, { joined, moved }, urls.set)))
  lines.push(...(await describeMovedSources(ctx, access, moved, pageOf)))
  const hints = isProposed(access.node) ? [] : advice(ctx, repo, commands, refused)
  return { refused, renamed, lines: [...lines, ...hints], reasons: [...reasons] }
}

/** Describes the push. Returns nothing if the storage fails: the refs have moved, and their report must not be lost. */
function advice(
  deps: Services,
  repo: Repo,
  commands: readonly RefCommand[],
  refused: ReadonlyMap<string, string>,
): readonly string[] {
  try {
    return describePush(repo, commands, refused)
  } catch (error) {
    deps.log.warn({ err: error }, 'a push succeeded, but its advice could not be computed')
    return []
  }
}

/** Sorts `main` last, because other refs may be heads of pull requests that main merges. */
function sorted(commands: readonly RefCommand[]): RefCommand[] {
  return [...commands].sort((a, b) => Number(a.ref === main) - Number(b.ref === main))
}

/**
 * Groups the refs that move together. If one ref is a folder of another, as `a` of `a/b`, they move separately,
 * deletions first.
 */
function groupsOf(commands: readonly RefCommand[]): RefCommand[][] {
  const related = relatedRefs(commands)
  const isSingle = (command: RefCommand) => command.ref === main || joinsSet(command) || related.has(command.ref)
  const independent = commands.filter((command) => !isSingle(command))
  const single = commands.filter(isSingle)
  const ordered = sorted(single.sort((a, b) => Number(a.to !== null) - Number(b.to !== null)))
  const groups: RefCommand[][] = []
  for (let at = 0; at < independent.length; at += refsPerTransaction)
    groups.push(independent.slice(at, at + refsPerTransaction))
  return [...groups, ...ordered.map((command) => [command])]
}

/** The refs that are a folder of another ref, and the refs in them. */
function relatedRefs(commands: readonly RefCommand[]): Set<string> {
  const names = new Set(commands.map(({ ref }) => ref))
  const above = commands.flatMap(({ ref }) => foldersOf(ref).filter((folder) => names.has(folder)))
  const below = commands.filter(({ ref }) => foldersOf(ref).some((folder) => names.has(folder)))
  return new Set([...above, ...below.map(({ ref }) => ref)])
}

/** The folders of a ref: `refs/heads/a/b` → `refs`, `refs/heads`, `refs/heads/a`. */
function foldersOf(ref: string): string[] {
  const parts = ref.split('/')
  return parts.slice(1).map((_, at) => parts.slice(0, at + 1).join('/'))
}

/** Refuses invalid names before they become the path of a lock. */
function refusedNames(commands: readonly RefCommand[]): Map<string, string> {
  const refused = new Map<string, string>()
  const seen = new Set<string>()
  for (const { ref } of commands) {
    const problem =
      commands.length > limits.pushedRefs
        ? `a push can have at most ${limits.pushedRefs} refs`
        : seen.has(ref)
          ? 'this ref is in the push twice'
          : findRefProblem(ref)
    if (problem !== undefined) refused.set(ref, problem)
    seen.add(ref)
  }
  return refused
}

/** Refuses the other refs of an atomic push once one is refused. */
function refuseRest(refused: Map<string, string>, commands: readonly RefCommand[]): void {
  const [culprit] = refused.keys()
  if (culprit === undefined) return
  const reason = `${printable(excerpt(culprit))} was refused, and the push is atomic`
  for (const { ref } of commands) if (!refused.has(ref)) refused.set(ref, reason)
}

interface Explanation {
  readonly reason: string
  readonly lines: readonly string[]
  /** The reason for the log. */
  readonly logged: string
}

/** Explains an error to the user who pushes. Faults of the service are logged. */
function explain(deps: Services, error: unknown, pageOf: PullPage): Explanation {
  if (error instanceof PushRejectedError) {
    const explained = error.problems.slice(0, maxProblems).map((problem) => printable(toProblemLine(problem)))
    const more = error.problems.length - explained.length
    const others = [...(more > 0 ? [`and ${more} more`] : []), ...error.linesOf(pageOf).map(printable)]
    const reason = printable(error.message)
    return { reason, lines: [...explained, ...others], logged: printable(error.logged) }
  }
  const { reason, answer, isLogged } = pushAnswerOf(error)
  if (answer instanceof AppError) countRefusal(deps.metrics, answer)
  if (isLogged) deps.log.error({ err: error }, 'a ref of a push could not be moved')
  return { reason, lines: [], logged: reason }
}

/** Lines for the terminal: the pull requests that have ended. */
function linesOf(events: readonly Reconciled[]): string[] {
  const ended = events.filter(({ kind }) => kind !== 'edit')
  return ended.map(({ record: { number, status, title } }) =>
    printable(`Pull request ${number} is ${status}: ${excerpt(title)}`),
  )
}

function shortName(ref: string): string {
  return ref.replace(/^refs\/(heads|tags)\//, '')
}

/** Lines for the terminal if main is missing. @param refused by ref name @throws GitError repo_missing, ref_damaged */
function describePush(
  repo: Repo,
  commands: readonly RefCommand[],
  refused: ReadonlyMap<string, string>,
): readonly string[] {
  const branches = commands
    .filter(({ ref, to }) => to !== null && ref.startsWith(branchRefs) && !refused.has(ref))
    .map(({ ref }) => branchName(ref))
  if (branches.length === 0 || readRef(repo, main) !== null) return []
  const [first = ''] = ['master', 'trunk'].filter((name) => branches.includes(name)).concat(branches)
  // The line may be pasted into a shell.
  const name = /^[\w./-]+$/.test(first) ? first : '<branch>'
  return [
    'This node has no branch `main` yet. Its clones check out nothing, and the graph and search do not show it.',
    `Create it: git push origin ${name}:main`,
  ]
}
