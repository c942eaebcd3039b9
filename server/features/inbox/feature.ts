/** Follows and inboxes. */

import type { Handlers } from '../../http/contract/operations.ts'
import { withSecret } from '../../http/responses/responses.ts'
import type { Feature } from '../feature.ts'
import { queueDigests, stopDigest, writeDigest } from './digest.ts'
import { createFeedToken, endFeedToken, getInboxFeed } from './feed.ts'
import { createFollowsSweep, followNode, followOrg, listMyFollows, unfollowNode, unfollowOrg } from './follows.ts'
import { listInbox, listOrgInbox } from './inbox.ts'
import { putInboxMarks, putOrgInboxMark } from './marks.ts'
import { listMutes, muteNode, unmuteNode } from './mutes.ts'
import { showInboxFeed } from './pages/feed.ts'
import { showInbox, takeInbox } from './pages/inbox.tsx'
import { notificationsPage } from './pages/notifications.tsx'
import { showUnsubscribe, takeUnsubscribe } from './pages/unsubscribe.tsx'
import { listUnread } from './unread.ts'

const operations = {
  listInbox,
  listUnread,
  listOrgInbox,
  getInboxFeed,
  createFeedToken: withSecret(createFeedToken),
  endFeedToken,
  putInboxMark: putInboxMarks,
  putOrgInboxMark,
  listFollows: listMyFollows,
  followOrg,
  unfollowOrg,
  followNode,
  unfollowNode,
  stopDigest,
  listMutes,
  muteNode,
  unmuteNode,
} satisfies Partial<Handlers>

export const inbox = {
  operations,
  pages: [
    { at: '/me/inbox', show: showInbox, take: takeInbox },
    { at: '/me/notifications', ...notificationsPage },
    { at: '/me/inbox.atom', show: showInboxFeed },
    { at: '/unsubscribe', show: showUnsubscribe, take: takeUnsubscribe, hasUploads: true, isOneClick: true },
  ],
  jobs: () => [
    {
      chore: 'follows',
      everyMs: 60 * 60_000,
      work: createFollowsSweep(),
      failed: 'follows of former members could not be removed',
    },
    {
      chore: 'digests',
      everyMs: 60_000,
      work: queueDigests,
      failed: 'digests of inboxes could not be queued',
    },
  ],
  letters: { digest: writeDigest },
} satisfies Feature
