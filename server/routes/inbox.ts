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
  listInbox: (deps, actor, { query }) => listInbox(deps, actor, query),
  listOrgInbox: (deps, actor, { path, query }) => listOrgInbox(deps, actor, path, query),
  getInboxFeed: (deps, _actor, { query }) => readInboxFeed(deps, query),
  putInboxMark: (deps, actor, { body }) => putInboxMarks(deps, actor, body),
  putOrgInboxMark: (deps, actor, { path, body }) => putOrgInboxMark(deps, actor, path, body),
  listFollows: (deps, actor, { query }) => follows.listMyFollows(deps, actor, query),
  followOrg: (deps, actor, { path }) => follows.followOrg(deps, actor, path),
  unfollowOrg: (deps, actor, { path }) => follows.unfollowOrg(deps, actor, path),
  followNode: (deps, actor, { path, body }) => follows.followNode(deps, actor, path, body),
  unfollowNode: (deps, actor, { path }) => follows.unfollowNode(deps, actor, path),
  stopDigest: (deps, _actor, { body }) => stopDigest(deps, body),
}
