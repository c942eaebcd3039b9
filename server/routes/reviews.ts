/** The conversation on a pull request. */
import { putCheck, readChecks } from '../domain/review/checks.ts'
import { createComment, deleteComment, getComment, updateComment } from '../domain/review/comments.ts'
import { eraseEntry } from '../domain/review/erase-entry.ts'
import { putReadMark } from '../domain/review/read-marks.ts'
import { getReview, listReviews, submitReview, updateReview } from '../domain/review/reviews.ts'
import { applySuggestions } from '../domain/review/suggestions.ts'
import { listThreads, updateThread } from '../domain/review/threads.ts'
import { getTimeline } from '../domain/review/timeline.ts'
import { listOrgWaiting, listWaiting } from '../domain/review/waiting.ts'
import type { Handlers } from '../http/contract/operations.ts'
import { createdAt } from '../http/responses/responses.ts'

const pull = '/orgs/{org_id}/nodes/{node_id}/pull-requests/{number}'

export const reviewRoutes = {
  listThreads,
  updateThread,
  getTimeline,
  createComment: createdAt(`${pull}/comments/{entry}`, createComment),
  getComment,
  updateComment,
  deleteComment,
  applySuggestions,
  submitReview: createdAt(`${pull}/reviews/{entry}`, submitReview),
  listReviews,
  getReview,
  updateReview,
  eraseEntry,
  putReadMark,
  listWaiting,
  listOrgWaiting,
  putCheck,
  listChecks: readChecks,
} satisfies Partial<Handlers>
