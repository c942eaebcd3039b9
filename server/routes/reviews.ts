/** The conversation on a pull request. */
import { putCheck, readChecks } from '../domain/review/checks.ts'
import * as comments from '../domain/review/comments.ts'
import { eraseEntry } from '../domain/review/erase-entry.ts'
import { putReadMark } from '../domain/review/read-marks.ts'
import * as reviews from '../domain/review/reviews.ts'
import { applySuggestions } from '../domain/review/suggestions.ts'
import { listThreads, updateThread } from '../domain/review/threads.ts'
import { readTimeline } from '../domain/review/timeline.ts'
import { listOrgWaiting, listWaiting } from '../domain/review/waiting.ts'
import type { HandlersOf } from '../http/contract/operations.ts'
import { created } from '../http/responses/responses.ts'

interface PullPath {
  readonly org_id: string
  readonly node_id: string
  readonly number: number
}

const urlOf = ({ org_id, node_id, number }: PullPath) => `/orgs/${org_id}/nodes/${node_id}/pull-requests/${number}`

export const reviewRoutes: HandlersOf<
  | 'listThreads'
  | 'updateThread'
  | 'getTimeline'
  | 'createComment'
  | 'getComment'
  | 'updateComment'
  | 'deleteComment'
  | 'applySuggestions'
  | 'submitReview'
  | 'listReviews'
  | 'getReview'
  | 'updateReview'
  | 'eraseEntry'
  | 'putReadMark'
  | 'listWaiting'
  | 'listOrgWaiting'
  | 'putCheck'
  | 'listChecks'
> = {
  listThreads: (deps, actor, { path, query }) => listThreads(deps, actor, path, query),
  updateThread: (deps, actor, { path, body }) => updateThread(deps, actor, path, body),
  getTimeline: (deps, actor, { path, query }) => readTimeline(deps, actor, path, query),
  createComment: async (deps, actor, { path, body }) => {
    const comment = await comments.createComment(deps, actor, path, body)
    return created(`${urlOf(path)}/comments/${comment.entry}`, comment)
  },
  getComment: (deps, actor, { path }) => comments.readComment(deps, actor, path),
  updateComment: (deps, actor, { path, body }) => comments.updateComment(deps, actor, path, body),
  deleteComment: (deps, actor, { path }) => comments.deleteComment(deps, actor, path),
  applySuggestions: (deps, actor, { path, body }) => applySuggestions(deps, actor, path, body),
  submitReview: async (deps, actor, { path, body }) => {
    const review = await reviews.submitReview(deps, actor, path, body)
    return created(`${urlOf(path)}/reviews/${review.entry}`, review)
  },
  listReviews: (deps, actor, { path, query }) => reviews.listReviews(deps, actor, path, query),
  getReview: (deps, actor, { path }) => reviews.readReview(deps, actor, path),
  updateReview: (deps, actor, { path, body }) => reviews.updateReview(deps, actor, path, body),
  eraseEntry: (deps, actor, { path, body, from, signal }) =>
    eraseEntry(deps, { actor, from, signal }, path, body ?? {}),
  putReadMark: (deps, actor, { path, body }) => putReadMark(deps, actor, path, body),
  listWaiting: (deps, actor, { query }) => listWaiting(deps, actor, query),
  listOrgWaiting: (deps, actor, { path, query }) => listOrgWaiting(deps, actor, path, query),
  putCheck: (deps, actor, { path, body }) => putCheck(deps, actor, path, body),
  listChecks: (deps, actor, { path }) => readChecks(deps, actor, path),
}
