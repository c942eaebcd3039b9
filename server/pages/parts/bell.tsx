/** The link to the inbox in the top bar, and the number of unread items. */

import type { PageContext } from '../page-context.ts'
import { inboxLabel, unreadNumber } from '../text/unread-number.ts'
import { Icon } from './icons.tsx'

type Props = Pick<PageContext, 'urls' | 'unread'>

export function Bell({ urls, unread }: Props) {
  const label = inboxLabel(unreadNumber(unread))
  return (
    <a class="icon bell" href={urls.me('inbox')} aria-label={label} title="Inbox" data-bell>
      <Icon name="bell" size={18} />
      <UnreadNumber unread={unread} />
    </a>
  )
}

/** Nothing if there is none. The script of the page sets it again. */
export function UnreadNumber({ unread }: Pick<Props, 'unread'>) {
  const number = unreadNumber(unread)
  return (
    <span data-unread hidden={number === ''}>
      {number}
    </span>
  )
}
