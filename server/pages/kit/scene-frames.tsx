/** The frames of settings: of an organisation and of the signed-in user. */

import type { VNode } from 'preact'
import { AppError } from '../../base/errors.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import type { PageContext } from '../page-context.ts'
import { Tabs } from '../parts/forms.tsx'
import { AdminTabs, type MePage, MeTabs } from '../parts/me-tabs.tsx'
import { countOpen, OrgTabs } from '../parts/org-tabs.tsx'
import type { SettingsPage, Urls } from '../urls.ts'

type Org = AnswerOf<'getOrg'>

/** The tabs and the place of a page of settings. */
export interface SceneFrame<H> {
  /** Reads its own data. @throws AppError the visitor may not see it */
  read(visit: PageContext): Promise<H>
  draw(visit: PageContext, home: H): Drawn
}

interface Drawn {
  /** The end of the page's title. */
  readonly of: string
  readonly org?: Org
  /** Default: the title of the page. */
  readonly crumb?: string
  readonly above?: VNode
  /** Undefined: a narrow page. */
  readonly tabs?: VNode
  /** Shown instead of the content, which is not read. */
  readonly closed?: VNode | undefined
}

interface OrgHome {
  readonly org: Org
  /** Open proposals. */
  readonly open: number | undefined
}

/** The frame of an organisation's settings, for its members. @param only what only owners see and change */
export function orgFrame(here: SettingsPage, only?: string): SceneFrame<OrgHome> {
  return {
    async read(visit) {
      const org = await readAsMember(visit)
      return { org, open: await countOpen(visit, org) }
    },
    draw: ({ urls }, { org, open }) => ({
      ...{ of: org.name, org, crumb: 'Settings' },
      above: <OrgTabs {...{ urls, org, open }} here="settings" />,
      tabs: <SettingsTabs urls={urls} org={org.id} here={here} />,
      closed:
        only === undefined || org.role === 'owner' ? undefined : (
          <p>
            Only owners can see and change {only}. Your role: {org.role}.
          </p>
        ),
    }),
  }
}

/** The frame of the pages about the signed-in user. */
export function meFrame(here: MePage): SceneFrame<undefined> {
  return {
    read: async () => undefined,
    draw: ({ urls, oidc }) => ({
      of: 'Grove',
      tabs: <MeTabs {...{ urls, here }} hasServices={oidc.services.length > 0} />,
    }),
  }
}

/** The frame of the pages for administrators. */
export const adminFrame: SceneFrame<undefined> = {
  read: async () => undefined,
  draw: ({ urls }) => ({ of: 'Grove', crumb: 'Administration', tabs: <AdminTabs urls={urls} here="accounts" /> }),
}

/** A narrow page without tabs. */
export const sheetFrame: SceneFrame<undefined> = { read: async () => undefined, draw: () => ({ of: 'Grove' }) }

/** Reads the organisation for a member. @throws AppError unauthenticated, forbidden: the user is not a member */
export async function readAsMember(
  { api, person, params }: PageContext,
  what: 'settings' | 'members' = 'settings',
): Promise<Org> {
  const org = await api.getOrg({ path: { org_id: params.org ?? '' } })
  if (org.role !== undefined) return org
  throw person === undefined
    ? new AppError('unauthenticated', `Sign in to see the ${what}`)
    : new AppError('forbidden', `Only members can see the ${what}`)
}

export function SettingsTabs({ urls, org, here }: { urls: Urls; org: string; here: SettingsPage }) {
  const tabs = [
    { title: 'General', href: urls.settings(org, 'general'), isHere: here === 'general' },
    { title: 'Members', href: urls.settings(org, 'members'), isHere: here === 'members' },
    { title: 'Rules', href: urls.settings(org, 'rules'), isHere: here === 'rules' },
    { title: 'Types', href: urls.settings(org, 'types'), isHere: here === 'types' },
    { title: 'Bots', href: urls.settings(org, 'bots'), isHere: here === 'bots' },
    { title: 'Webhooks', href: urls.settings(org, 'webhooks'), isHere: here === 'webhooks' },
    { title: 'Audit', href: urls.settings(org, 'audit'), isHere: here === 'audit' },
  ]
  return <Tabs label="Settings" tabs={tabs} />
}
