/** Checks the anchor of a new comment against the commits of the pull request. */

import type { LedgerAccess } from '../access.ts'
import { completeAnchor } from '../anchors/complete-anchor.ts'
import { headMovedError } from '../branches/branch-commits.ts'
import type { AnchorInput } from '../format/anchors.ts'
import type { CommentAnchor } from '../ledger/entries.ts'
import { findPullRow } from '../pulls/pulls.ts'
import type { Services } from '../services.ts'
import type { PullAt } from '../targets.ts'
import { presentHead } from './conversations.ts'

/**
 * Returns the anchor to store. Its commit is the source's head or an ancestor of it. So it may be the merge base, whose
 * lines the proposal removes.
 *
 * @throws AppError head_moved: the commit is not in the source's history
 * @throws ValidationError as completeAnchor
 */
export async function resolveAnchor(
  deps: Services,
  access: LedgerAccess,
  at: PullAt,
  loc: readonly (string | number)[],
  input: AnchorInput,
): Promise<CommentAnchor> {
  const head = await presentHead(deps, access, await findPullRow(deps, at))
  if (!(await access.history.contains(head, input.commit)))
    throw headMovedError(
      'The commit of the anchor is not in the history of the source branch, which was rewritten or is another one. Read the proposal again',
      head,
    )
  const { quote, ...place } = await completeAnchor(access.repo, input, loc)
  return { ...place, ...(quote && { quote: { ...quote } }) }
}
