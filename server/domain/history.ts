/** A node's history: the interface of gitstore, answered from the logs in the index. */
import { openHistory as gitHistory, type History } from '../../gitstore/history/history.ts'
import type { Repo } from '../../gitstore/repo.ts'
import { findKnownLogs } from '../../index/derived/chains.ts'
import type { Deps } from '../base/deps.ts'

export function historyOf(deps: Pick<Deps, 'index'>, nodeId: string, repo: Repo): History {
  return gitHistory(repo, findKnownLogs(deps.index.read, nodeId))
}

/** Returns `historyOf` for any node. */
export function historiesOf(deps: Pick<Deps, 'index'>) {
  return (nodeId: string, repo: Repo): History => historyOf(deps, nodeId, repo)
}
