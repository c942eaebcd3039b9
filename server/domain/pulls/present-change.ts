/** The change that a pull request proposes now. For one that has ended, it is the change at its end. */
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { PullRow } from '../../../index/derived/pulls.ts'
import type { LedgerAccess } from '../access.ts'
import { type Change, mergeBaseOf } from '../consent/same-change.ts'
import { branchRef } from '../layout.ts'

type Branches = Pick<PullRow, 'status' | 'source_branch' | 'target_branch' | 'source_commit' | 'target_commit'>

/** Reads the head of the source, and the only merge base with the target. @throws the errors of mergeBaseOf */
export async function readPresentChange({ repo, history }: LedgerAccess, pull: Branches): Promise<Change> {
  const isOpen = pull.status === 'open'
  const source = isOpen ? readRef(repo, branchRef(pull.source_branch)) : null
  const target = isOpen ? readRef(repo, branchRef(pull.target_branch)) : null
  const head = source ?? pull.source_commit
  return { base: await mergeBaseOf(history, target ?? pull.target_commit, head), head }
}
