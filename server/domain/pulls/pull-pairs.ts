/** The two branches of a request: both exist, they differ, and no other open request has the same pair. */

import { asBranchName } from '../../../gitstore/names.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import type { Deps } from '../../base/deps.ts'
import { invalid, Refusal } from '../../base/errors.ts'
import type { NodeAccess } from '../access.ts'
import { excerpt } from '../format/excerpt.ts'
import { branchRef } from '../layout.ts'
import type { PullRecord } from '../ledger/ledger.ts'
import { openPullsAt } from '../ledger/open-pulls.ts'

type Pair = Pick<PullRecord, 'source_branch' | 'target_branch'>

/** The heads of a request to be open. `named`: the fields in the request body. @throws as headOf */
export function branchHeads(repo: Repo, pair: Pair, named: readonly (keyof Pair)[]): { source: Oid; target: Oid } {
  refuseSame(pair)
  return { source: headOf(repo, pair, 'source_branch', named), target: headOf(repo, pair, 'target_branch', named) }
}

/** The head of a target named in the request body. @throws as headOf */
export function newTargetHead(repo: Repo, pair: Pair): Oid {
  refuseSame(pair)
  return headOf(repo, pair, 'target_branch', ['target_branch'])
}

function refuseSame({ source_branch, target_branch }: Pair): void {
  if (source_branch === target_branch)
    throw invalid(['body', 'target_branch'], 'source and target are the same branch', target_branch)
}

/** @throws Invalid if the body names a missing branch; Refusal source_branch_missing, target_branch_missing */
function headOf(repo: Repo, pair: Pair, field: keyof Pair, named: readonly (keyof Pair)[]): Oid {
  const branch = asBranchName(pair[field])
  const head = branch ? readRef(repo, branchRef(branch)) : null
  if (head) return head
  if (named.includes(field)) throw invalid(['body', field], 'Branch not found', pair[field])
  throw new Refusal(`${field}_missing`, `There is no branch ${excerpt(pair[field])} any more`)
}

/** The caller holds the ledger's lock. @throws Refusal pull_request_exists */
export async function refusePair(
  deps: Deps,
  { node, repo }: NodeAccess,
  ledger: Oid,
  pair: Pair,
  except?: number,
): Promise<void> {
  const open = await openPullsAt(deps.index.read, { repo, nodeId: node.id }, ledger)
  const first = open.find(
    (record) =>
      record.number !== except &&
      record.source_branch === pair.source_branch &&
      record.target_branch === pair.target_branch,
  )
  if (!first) return
  const detail = `Pull request ${first.number} is open for ${excerpt(pair.source_branch)} → ${excerpt(pair.target_branch)}`
  throw new Refusal('pull_request_exists', detail, { number: first.number })
}
