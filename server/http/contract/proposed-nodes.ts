/** The operations that show a node which is only proposed. All other operations answer 404 `node_not_found`. */
import type { OperationId } from './spec.ts'

/** `if asked`: only with `proposed=true`. Members alone see the node. */
const operations: Readonly<Partial<Record<OperationId, 'always' | 'if asked'>>> = {
  getNode: 'if asked',
  listBranches: 'always',
  createBranch: 'always',
  getBranch: 'always',
  deleteBranch: 'always',
  restoreBranch: 'always',
  listTags: 'always',
  listEntities: 'always',
  getFile: 'always',
  getRaw: 'always',
  getBlame: 'always',
  getObject: 'always',
  listCommits: 'always',
  createCommit: 'always',
  getCommit: 'always',
  getCommitDiff: 'always',
  compareCommits: 'always',
  getPatch: 'always',
  listPulls: 'always',
  openPull: 'always',
  getPull: 'always',
  updatePull: 'always',
  mergePull: 'always',
  updatePullBranch: 'always',
  undoPull: 'always',
  listPullCommits: 'always',
  getPullChanges: 'always',
  getPullImpact: 'always',
  getPullDiff: 'always',
  getPullChangesSince: 'always',
  getTimeline: 'always',
  listThreads: 'always',
  updateThread: 'always',
  createComment: 'always',
  getComment: 'always',
  updateComment: 'always',
  deleteComment: 'always',
  applySuggestions: 'always',
  listReviews: 'always',
  submitReview: 'always',
  getReview: 'always',
  updateReview: 'always',
  eraseEntry: 'always',
  putReadMark: 'always',
  listChecks: 'always',
  putCheck: 'always',
}

/** True if the operation also finds a node that is only proposed. */
export function seesProposed(id: OperationId, query: { readonly proposed?: unknown }): boolean {
  const shown = operations[id]
  return shown === 'always' || (shown === 'if asked' && query.proposed === 'true')
}
