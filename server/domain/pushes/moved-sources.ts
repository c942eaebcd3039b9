/** The lines for the terminal about open pull requests whose source a push has moved. */
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid } from '../../../gitstore/repo.ts'
import type { RefCommand } from '../../../gitstore/transfer/proc-receive.ts'
import { listOpenPullsFrom, type PullRow } from '../../../index/derived/pulls.ts'
import type { NodeAccess } from '../access.ts'
import { leavable, mergeBaseOf } from '../consent/same-change.ts'
import { type ReviewFacts, readReviewFacts, readVerdicts, type StatedVerdict } from '../consent/verdicts.ts'
import type { PullPage } from '../consent/wording.ts'
import { printable } from '../format/text-rules.ts'
import { branchName, branchRef, branchRefs } from '../layout.ts'
import type { Services } from '../services.ts'

/** The most pull requests per push. With three lines each and one on the others, these are ten lines. */
const maxPulls = 3
/** Milliseconds after which a line on approvals is left out. The push waits for it. */
const timeoutMs = 2_000

/** The heads of a branch before and after the push. */
interface HeadMove {
  readonly from: Oid
  readonly to: Oid
}

/**
 * Describes the open pull requests from branches that moved.
 *
 * Shows the page, open threads, and approvals that no longer hold. The node is indexed. Failures are only logged,
 * because the refs have moved.
 *
 * @param moved the commands that were carried out
 */
export async function describeMovedSources(
  deps: Services,
  access: NodeAccess,
  moved: readonly RefCommand[],
  pageOf: PullPage,
): Promise<readonly string[]> {
  const heads = new Map<string, HeadMove>()
  for (const { ref, from, to } of moved)
    if (ref.startsWith(branchRefs) && from !== null && to !== null && from !== to)
      heads.set(branchName(ref), { from, to })
  if (heads.size === 0) return []
  try {
    const { index } = deps
    const { rows, total } = await listOpenPullsFrom(index.read, access.node.id, [...heads.keys()], maxPulls)
    if (rows.length === 0) return []
    const factsOf = await readReviewFacts(deps, access, rows)
    const signal = AbortSignal.timeout(timeoutMs)
    const described = rows.map(async (row) => {
      const lost = await countLost(deps, access, { row, facts: factsOf(row.number), heads }, signal)
      return linesOf(row, lost, pageOf)
    })
    const lines = (await Promise.all(described)).flat()
    const more = total - rows.length
    if (more > 0) lines.push(`and ${more} other open pull request${more === 1 ? '' : 's'}`)
    return lines.map(printable)
  } catch (error) {
    deps.log.warn({ err: error }, 'a push succeeded, but its pull requests could not be described')
    return []
  }
}

function linesOf({ number, open_threads }: PullRow, lost: number, pageOf: PullPage): string[] {
  return [
    `Pull request ${number}: ${pageOf(number)}`,
    ...(open_threads > 0 ? [`${open_threads} open thread${open_threads === 1 ? '' : 's'}`] : []),
    ...(lost > 0 ? [lost === 1 ? '1 approval no longer holds' : `${lost} approvals no longer hold`] : []),
  ]
}

interface MovedPull {
  readonly row: PullRow
  readonly facts: ReviewFacts
  readonly heads: ReadonlyMap<string, HeadMove>
}

/** Counts the approvals that no longer hold. Returns 0 if that fails or takes too long. */
async function countLost(deps: Services, access: NodeAccess, moved: MovedPull, signal: AbortSignal): Promise<number> {
  try {
    return await leavable(lostApprovals(deps, access, moved, signal), signal)
  } catch (error) {
    deps.log.warn({ err: error }, 'a push succeeded, but its approvals could not be compared in time')
    return 0
  }
}

/** @throws the errors of readVerdicts and mergeBaseOf */
async function lostApprovals(
  deps: Services,
  access: NodeAccess,
  { row, facts, heads }: MovedPull,
  signal: AbortSignal,
) {
  const source = heads.get(row.source_branch)
  const target = heads.get(row.target_branch)
  const now = target?.to ?? readRef(access.repo, branchRef(row.target_branch))
  if (!source || !now) return 0
  const changeOf = (into: Oid, head: Oid) => async () => ({ base: await mergeBaseOf(access.history, into, head), head })
  const before = changeOf(target?.from ?? now, source.from)
  const held = await readVerdicts(deps, access, row, facts.verdicts, before, signal)
  const approved = held.filter((one) => one.row.verdict === 'approve' && one.row.role !== null && isCurrent(one))
  if (approved.length === 0) return 0
  const present = await readVerdicts(deps, access, row, facts.verdicts, changeOf(now, source.to), signal)
  const stale = new Set(present.filter(({ state }) => state === 'stale').map((one) => one.row.entry))
  return approved.filter((one) => stale.has(one.row.entry)).length
}

function isCurrent({ state, isOpener }: StatedVerdict): boolean {
  return state === 'current' && !isOpener
}
