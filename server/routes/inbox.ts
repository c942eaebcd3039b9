/** Follows and inboxes. */
import { stopDigest } from '../domain/inbox/digest.ts'
import { readInboxFeed } from '../domain/inbox/feed.ts'
import * as follows from '../domain/inbox/follows.ts'
import { listInbox, listOrgInbox } from '../domain/inbox/inbox.ts'
import { putInboxMarks, putOrgInboxMark } from '../domain/inbox/marks.ts'
import type { HandlersOf } from '../http/contract/operations.ts'

export const inboxRoutes: HandlersOf<
  | 'listInbox'
  | 'listOrgInbox'
  | 'getInboxFeed'
  | 'putInboxMark'
  | 'putOrgInboxMark'
  | 'listFollows'
  | 'followOrg'
  | 'unfollowOrg'
  | 'followNode'
  | 'unfollowNode'
  | 'stopDigest'
> = {
  listInbox: (ctx, { query }) => listInbox(ctx, query),
  listOrgInbox: (ctx, { path, query }) => listOrgInbox(ctx, path, query),
  getInboxFeed: (ctx, { query }) => readInboxFeed(ctx, query),
  putInboxMark: (ctx, { body }) => putInboxMarks(ctx, body),
  putOrgInboxMark: (ctx, { path, body }) => putOrgInboxMark(ctx, path, body),
  listFollows: (ctx, { query }) => follows.listMyFollows(ctx, query),
  followOrg: (ctx, { path }) => follows.followOrg(ctx, path),
  unfollowOrg: (ctx, { path }) => follows.unfollowOrg(ctx, path),
  followNode: (ctx, { path, body }) => follows.followNode(ctx, path, body),
  unfollowNode: (ctx, { path }) => follows.unfollowNode(ctx, path),
  stopDigest: (ctx, { body }) => stopDigest(ctx, body),
}
