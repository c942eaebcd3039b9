/** The page on which users choose what comes into their inbox, and by mail. */

import { choice, hidden } from '../../../pages/kit/controls.tsx'
import { Row, Rows } from '../../../pages/kit/parts.tsx'
import { meFrame } from '../../../pages/kit/scene-frames.tsx'
import { act, settings } from '../../../pages/kit/settings.tsx'

const channels = [
  ['mail', 'Inbox and mail'],
  ['inbox', 'Inbox'],
  ['none', 'Nothing'],
] as const

const frequencies = [
  ['never', 'Never'],
  ['daily', 'Once a day'],
  ['weekly', 'Once a week'],
] as const

const reasons = {
  review_requested: choice('Somebody asks you for a review', channels),
  mentioned: choice('Somebody mentions you', channels),
  involved: choice('Proposals that you opened, reviewed or commented on', channels),
  following_node: choice('Pages that you follow', channels),
  following_tree: choice('Parts that you follow, with their subpages', channels),
  following_org: choice('Organisations that you follow', channels),
}

export const notificationsPage = settings({
  frame: meFrame('notifications'),
  title: 'Notifications',
  why: 'Choose what comes into your inbox, and what is also mailed. Your own acts are left out.',
  says: { choose: 'Your choice was saved.', digest: 'Your choice was saved.' },
  read: async ({ api }) => ({ me: await api.getMe({}), ...(await api.listMutes({})) }),
  acts: {
    choose: act('Save', reasons, ({ api }, notifications) => api.updateMe({ body: { notifications } })),
    digest: act('Save', { digest: choice('Mail me what is unread and new', frequencies) }, ({ api }, body) =>
      api.updateMe({ body }),
    ),
    'unmute-page': act('Unmute', { org_id: hidden, node_id: hidden }, ({ api }, path) => api.unmuteNode({ path })),
    'unmute-proposal': act(
      'Unmute',
      { org_id: hidden, node_id: hidden, number: hidden },
      ({ api }, { number, ...path }) =>
        api.putReadMark({ path: { ...path, number: Number(number) }, body: { entry: 0, muted: false } }),
    ),
  },
  view: ({ me, mutes }, { form, visit: { urls, sendsMail } }) => (
    <>
      {form('choose', { values: me.notifications ?? {} })}
      <h2>By mail</h2>
      {!sendsMail && <p>This service sends no mail. Everything stays in the inbox.</p>}
      {sendsMail && form('digest', { values: { digest: me.digest ?? 'never' } })}
      {sendsMail && me.email_verified !== true && (
        <p class="why">
          Mails begin once your e-mail address is confirmed, on <a href={urls.me('profile')}>your profile page</a>.
        </p>
      )}
      <h2>Muted</h2>
      <p class="why">
        From a muted page or proposal, you get only requests for your review, and mentions. Mute a page in its menu.
      </p>
      <Rows of={mutes} empty="You have muted nothing.">
        {({ org_id, node_id, node_title, number, title }) => (
          <Row
            title={
              <a href={number === undefined ? urls.node(org_id, node_id) : urls.proposal(org_id, node_id, number)}>
                <strong>{title ?? node_title}</strong>
              </a>
            }
            facts={number === undefined ? 'page' : `proposal #${number} for ${node_title || 'several pages'}`}
          >
            {number === undefined
              ? form('unmute-page', { values: { org_id, node_id }, of: node_title })
              : form('unmute-proposal', { values: { org_id, node_id, number: `${number}` }, of: title ?? node_title })}
          </Row>
        )}
      </Rows>
      <p>
        <a href={urls.me('inbox')}>The inbox</a> lists what you follow.
      </p>
    </>
  ),
})
