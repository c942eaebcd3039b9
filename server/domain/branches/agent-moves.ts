/**
 * Protects open pull requests from tokens with the access `propose`. `access.ts` limits such a token to branches of
 * agents. Here it is also kept from branches that somebody else has proposed. It merges and closes nothing. The lock of
 * the ledger is held, because a pull request may be opened while a change is checked.
 */
import type { Current, RefName } from '../../../gitstore/refs/ref-transaction.ts'
import type { Repo } from '../../../gitstore/repo.ts'
import type { RefCommand } from '../../../gitstore/transfer/proc-receive.ts'
import { AppError } from '../../base/errors.ts'
import type { NodeAccess } from '../access.ts'
import type { Person } from '../actor.ts'
import { isOpener } from '../format/ownership.ts'
import { branchName, ledgerRef } from '../layout.ts'
import type { PullRecord } from '../ledger/ledger.ts'
import { openPullsAt } from '../ledger/pull-ledger.ts'
import type { Reconciled } from '../ledger/reconcile.ts'
import type { Ctx } from '../services.ts'

/** The refs to lock for a change of the branch. With `propose`, also the ledger. */
export function locksOf({ access }: Person, repo: Repo, ref: string): RefName[] {
  return [{ repo, ref }, ...(access === 'propose' ? [{ repo, ref: ledgerRef }] : [])]
}

/** Checks a commit to a branch, or a new branch. The caller holds `locksOf`. @throws AppError token_scope */
export async function requireUnproposed(
  ctx: Ctx<Person>,
  { repo, node }: NodeAccess,
  ref: string,
  current: Current,
): Promise<void> {
  if (ctx.actor.access !== 'propose') return
  const ledger = current({ repo, ref: ledgerRef }) ?? node.ledger
  refuseProposed(ctx.actor, await openPullsAt(ctx.index.read, { repo, nodeId: node.id }, ledger), {
    ref,
    isDeleted: false,
  })
}

/**
 * Checks a move of a branch.
 *
 * @param open every open pull request, read under the ledger's lock
 * @throws AppError token_scope: the branch is the source of another user's pull request. If it is deleted, also: an
 *   open pull request has it as its source or target, and would close or change
 */
export function refuseProposed(
  person: Person,
  open: readonly PullRecord[],
  { ref, isDeleted }: { readonly ref: string; readonly isDeleted: boolean },
): void {
  if (person.access !== 'propose') return
  const branch = branchName(ref)
  const isHeld = (pull: PullRecord) =>
    pull.source_branch === branch ? isDeleted || !isOpener(person, pull) : isDeleted && pull.target_branch === branch
  const found = open.find(isHeld)
  if (found === undefined) return
  const whose = isOpener(person, found) ? 'is open' : 'of another user is open'
  const change = isDeleted ? 'delete' : 'change'
  throw refusal(`Pull request ${found.number} ${whose}; this token cannot ${change} its branch`)
}

/**
 * Refuses the moves that would merge pull requests.
 *
 * @param events those of the moves. Each is a merge, because `refuseProposed` has refused deletions that cause events
 * @returns true if it has refused one
 */
export function refuseMerges(
  person: Person,
  events: readonly Reconciled[],
  commands: readonly RefCommand[],
  refused: Map<string, unknown>,
): boolean {
  if (person.access !== 'propose') return false
  const before = refused.size
  for (const { record } of events)
    for (const { ref } of commands)
      if (branchName(ref) === record.target_branch)
        refused.set(ref, refusal(`This would merge pull request ${record.number}; this token cannot merge`))
  return refused.size > before
}

function refusal(detail: string): AppError {
  return new AppError('token_scope', detail, { token_access: 'propose' })
}
