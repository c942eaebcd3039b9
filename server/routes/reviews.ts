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
  listThreads: (ctx, { path, query }) => listThreads(ctx, path, query),
  updateThread: (ctx, { path, body }) => updateThread(ctx, path, body),
  getTimeline: (ctx, { path, query }) => readTimeline(ctx, path, query),
  createComment: async (ctx, { path, body }) => {
    const comment = await comments.createComment(ctx, path, body)
    return created(`${urlOf(path)}/comments/${comment.entry}`, comment)
  },
  getComment: (ctx, { path }) => comments.readComment(ctx, path),
  updateComment: (ctx, { path, body }) => comments.updateComment(ctx, path, body),
  deleteComment: (ctx, { path }) => comments.deleteComment(ctx, path),
  applySuggestions: (ctx, { path, body }) => applySuggestions(ctx, path, body),
  submitReview: async (ctx, { path, body }) => {
    const review = await reviews.submitReview(ctx, path, body)
    return created(`${urlOf(path)}/reviews/${review.entry}`, review)
  },
  listReviews: (ctx, { path, query }) => reviews.listReviews(ctx, path, query),
  getReview: (ctx, { path }) => reviews.readReview(ctx, path),
  updateReview: (ctx, { path, body }) => reviews.updateReview(ctx, path, body),
  eraseEntry: (ctx, { path, body }) => eraseEntry(ctx, path, body ?? {}),
  putReadMark: (ctx, { path, body }) => putReadMark(ctx, path, body),
  listWaiting: (ctx, { query }) => listWaiting(ctx, query),
  listOrgWaiting: (ctx, { path, query }) => listOrgWaiting(ctx, path, query),
  putCheck: (ctx, { path, body }) => putCheck(ctx, path, body),
  listChecks: (ctx, { path }) => readChecks(ctx, path),
}
