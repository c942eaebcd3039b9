/** The tabs above the pages about the signed-in user, and above those for administrators. */

import type { Urls } from '../urls.ts'
import { Tabs } from './forms.tsx'

export type MePage =
  | 'profile'
  | 'drafts'
  | 'notifications'
  | 'password'
  | 'identities'
  | 'tokens'
  | 'connections'
  | 'sessions'

interface MeTabsProps {
  readonly urls: Urls
  readonly here: MePage
  /** True if users can sign in through other services. */
  readonly hasServices: boolean
}

export function MeTabs({ urls, here, hasServices }: MeTabsProps) {
  const identities = hasServices ? ({ identities: 'Ways to sign in' } as const) : {}
  const pages = {
    profile: 'Profile',
    drafts: 'Drafts',
    notifications: 'Notifications',
    password: 'Password',
    ...identities,
    tokens: 'Tokens',
    connections: 'Connections',
    sessions: 'Sessions',
  } as const
  const tabs = Object.entries(pages).map(([page, title]) => ({
    ...{ title, isHere: page === here },
    href: urls.me(page as MePage), // the keys are the pages
  }))
  return <Tabs label="Your account" tabs={tabs} />
}

export function AdminTabs({ urls, here }: { readonly urls: Urls; readonly here: 'accounts' | 'health' }) {
  const tabs = [
    { title: 'Accounts', href: urls.admin('accounts'), isHere: here === 'accounts' },
    { title: 'Health', href: urls.admin('health'), isHere: here === 'health' },
  ]
  return <Tabs label="Administration" tabs={tabs} />
}
