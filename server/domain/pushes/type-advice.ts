/** Warnings for the terminal: rules of advisory types that a push to `main` breaks. */
import type { RefCommand } from '../../../gitstore/transfer/proc-receive.ts'
import type { NodeAccess } from '../access.ts'
import { findTree } from '../branches/revisions.ts'
import { findTypeAdvice } from '../branches/type-rules.ts'
import { toProblemLine } from '../format/path-problem.ts'
import { printable } from '../format/text-rules.ts'
import { main } from '../layout.ts'
import type { Services } from '../services.ts'

/** The most warnings of a push. */
const maxWarnings = 20

/**
 * Describes what the push has broken more than before. The node is indexed. Failures are only logged, because the refs
 * have moved.
 *
 * @param moved the commands that were carried out
 */
export async function describeTypeAdvice(
  deps: Services,
  { org, repo }: NodeAccess,
  moved: readonly RefCommand[],
): Promise<readonly string[]> {
  const move = moved.find(({ ref, to }) => ref === main && to !== null)
  if (!move) return []
  try {
    const [before, after] = [await findTree(repo, move.from), await findTree(repo, move.to)]
    const problems = await findTypeAdvice(deps, org.id, repo, before, after)
    const warnings = problems.slice(0, maxWarnings).map((problem) => printable(`warning: ${toProblemLine(problem)}`))
    const more = problems.length - warnings.length
    return [...warnings, ...(more > 0 ? [`warning: and ${more} more`] : [])]
  } catch (error) {
    deps.log.warn({ err: error }, 'a push succeeded, but its content could not be compared with its type')
    return []
  }
}
