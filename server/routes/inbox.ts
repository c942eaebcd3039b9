/** Follows and inboxes. */
import { stopDigest } from '../domain/inbox/digest.ts'
import { getInboxFeed } from '../domain/inbox/feed.ts'
import { followNode, followOrg, listMyFollows, unfollowNode, unfollowOrg } from '../domain/inbox/follows.ts'
import { listInbox, listOrgInbox } from '../domain/inbox/inbox.ts'
import { putInboxMarks, putOrgInboxMark } from '../domain/inbox/marks.ts'
import type { Handlers } from '../http/contract/operations.ts'

export const inboxRoutes = {
  listInbox,
  listOrgInbox,
  getInboxFeed,
  putInboxMark: putInboxMarks,
  putOrgInboxMark,
  listFollows: listMyFollows,
  followOrg,
  unfollowOrg,
  followNode,
  unfollowNode,
  stopDigest,
} satisfies Partial<Handlers>
