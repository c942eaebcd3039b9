/** The tabs above all pages of an organisation. */

import type { AnswerOf } from '../../http/in-process.ts'
import type { PageContext } from '../page-context.ts'
import type { Urls } from '../urls.ts'

type Org = Pick<AnswerOf<'getOrg'>, 'id' | 'name' | 'role'>

/** Counts the open proposals; undefined for visitors who may not see them. */
export async function countOpen({ api }: PageContext, org: Org): Promise<number | undefined> {
  if (org.role === undefined) return undefined
  return (await api.listOrgPulls({ path: { org_id: org.id }, query: { group: 'change_set', limit: 1 } })).total
}

interface OrgTabsProps {
  readonly urls: Urls
  readonly org: Org
  /** The number of open proposals; undefined if the visitor may not see them. */
  readonly open: number | undefined
  /** Undefined for a page below no tab. */
  readonly here:
    | 'overview'
    | 'table'
    | 'proposals'
    | 'changes'
    | 'activity'
    | 'tags'
    | 'members'
    | 'settings'
    | undefined
}

/** Visitors who are not members see only the tabs that are open to them. */
export function OrgTabs({ urls, org, open = 0, here }: OrgTabsProps) {
  const { id, name, role } = org
  const tabs = [
    { key: 'overview', title: 'Overview', href: urls.org(id), isOpen: true },
    { key: 'table', title: 'Pages', href: urls.table(id), isOpen: true },
    { key: 'proposals', title: 'Proposals', href: urls.orgProposals(id) },
    { key: 'changes', title: 'Changes', href: urls.changes(id), isOpen: true },
    { key: 'activity', title: 'Activity', href: urls.activity(id) },
    { key: 'tags', title: 'Tags', href: urls.tags(id), isOpen: true },
    { key: 'members', title: 'Members', href: urls.members(id) },
    { key: 'settings', title: 'Settings', href: urls.settings(id, 'general') },
  ]
  return (
    <nav class="org-tabs" aria-label={name}>
      {tabs
        .filter(({ isOpen = false }) => isOpen || role !== undefined)
        .map(({ key, title, href }) => (
          <a href={href} aria-current={key === here ? 'page' : undefined}>
            {title}
            {key === 'proposals' && open > 0 && (
              <>
                {' '}
                <span class="n">{open.toLocaleString('en')}</span>
              </>
            )}
          </a>
        ))}
    </nav>
  )
}
