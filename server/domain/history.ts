/** A node's history: the interface of gitstore, answered from the logs in the index. */
import { openHistory as gitHistory, type History } from '../../gitstore/history/history.ts'
import type { Repo } from '../../gitstore/repo.ts'
import { findKnownLogs } from '../../index/derived/chains.ts'
import type { Services } from './services.ts'

export function historyOf(deps: Pick<Services, 'index'>, nodeId: string, repo: Repo): History {
  return gitHistory(repo, findKnownLogs(deps.index.read, nodeId))
}

/** Returns `historyOf` for any node. */
export function historiesOf(deps: Pick<Services, 'index'>) {
  return (nodeId: string, repo: Repo): History => historyOf(deps, nodeId, repo)
}
