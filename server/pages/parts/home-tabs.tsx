/** The tabs of the home page and the inbox. */

import type { Urls } from '../urls.ts'
import { Tabs } from './forms.tsx'

interface Props {
  readonly urls: Urls
  readonly here: 'home' | 'inbox'
  /** Unread items, up to 10. */
  readonly unread?: number
}

/** Numbers up to this are shown. */
const mostShown = 9

export function HomeTabs({ urls, here, unread = 0 }: Props) {
  const count = unread === 0 ? '' : ` (${unread > mostShown ? `${mostShown}+` : unread})`
  const tabs = [
    { title: 'Waiting and organisations', href: urls.home(), isHere: here === 'home' },
    { title: `Inbox${count}`, href: urls.me('inbox'), isHere: here === 'inbox' },
  ]
  return <Tabs label="Home" tabs={tabs} />
}
