/** The tabs of the home page and the inbox. */

import type { PageContext } from '../page-context.ts'
import { unreadNumber } from '../text/unread-number.ts'
import { Tabs } from './forms.tsx'

interface Props extends Pick<PageContext, 'urls' | 'unread'> {
  readonly here: 'home' | 'inbox'
}

export function HomeTabs({ urls, here, unread }: Props) {
  const number = unreadNumber(unread)
  const tabs = [
    { title: 'Home', href: urls.home(), isHere: here === 'home' },
    { title: number ? `Inbox (${number})` : 'Inbox', href: urls.me('inbox'), isHere: here === 'inbox' },
  ]
  return <Tabs label="Home" tabs={tabs} />
}
