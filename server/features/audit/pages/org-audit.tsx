/** The audit of an organisation, for its owners. */

import type { AnswerOf } from '../../../http/in-process.ts'
import { readAsMember, SettingsTabs } from '../../../pages/kit/scene-frames.tsx'
import type { Page, PageContext } from '../../../pages/page-context.ts'
import { readAuditNames } from '../../../pages/parts/activity-names.ts'
import { AuditRows, auditWords } from '../../../pages/parts/audit-rows.tsx'
import { countOpen, OrgTabs } from '../../../pages/parts/org-tabs.tsx'

/** Entries on a page. */
const size = 50
/** Members that the filter lists. */
const mostMembers = 200

/** The actions of the filter. */
const groups = {
  'git.*': 'Clones and fetches',
  'org.*': 'The organisation, exports',
  'member.*': 'Members',
  'invitation.*': 'Invitations',
  'token.*': 'Tokens',
  'node.*': 'Pages',
  'branch.*': 'Branches',
  'pull_request.*': 'Proposals',
  'review.*': 'Reviews',
  'comment.*': 'Comments',
  'text.*': 'Erasures',
  'webhook.*': 'Webhooks',
} as const

/** Actors that are not members. */
const kinds = { operator: 'The operator', anonymous: 'Anonymous callers', service: 'The service' } as const

type Members = AnswerOf<'listMembers'>['members']

export async function showAudit(visit: PageContext): Promise<Page> {
  const { api, urls, query } = visit
  const org = await readAsMember(visit)
  const open = await countOpen(visit, org)
  const path = { org_id: org.id }
  const filter = filterOf(query)
  const after = query.get('after')
  const isOwner = org.role === 'owner'
  const list = isOwner
    ? await api.listOrgAudit({ path, query: { ...filter, ...(after !== null && { after }), limit: size } })
    : undefined
  const names = await readAuditNames(visit, list?.entries ?? [])
  const { members } = isOwner
    ? await api.listMembers({ path, query: { limit: mostMembers, offset: 0 } })
    : { members: [] }
  const base = urls.settings(org.id, 'audit')
  const link = (more: Readonly<Record<string, string>>) => {
    const asked = new URLSearchParams({ ...filter, ...more })
    return asked.size > 0 ? `${base}?${asked}` : base
  }
  return {
    ...{ kind: 'page', place: { org, crumb: 'Settings' }, facts: { org, open, list, members, names } },
    head: { title: `Audit · ${org.name}`, noIndex: true },
    body: () => (
      <>
        <OrgTabs {...{ urls, org, open }} here="settings" />
        <main id="main" class="page settings admin">
          <h1>Audit</h1>
          <SettingsTabs urls={urls} org={org.id} here="audit" />
          {list === undefined && <p>Only owners can see the audit. Your role: {org.role}.</p>}
          {list !== undefined && (
            <>
              <FilterForm action={base} members={members} filter={filter} />
              {list.entries.length === 0 && <p>Nothing{filter.action || filter.actor ? ' on this page' : ''}.</p>}
              <AuditRows {...{ urls, names }} entries={list.entries} />
              <p class="acts">
                {after !== null && (
                  <a class="btn" href={link({})}>
                    Newest
                  </a>
                )}
                {list.next !== undefined && (
                  <a class="btn" href={link({ after: list.next })}>
                    Older
                  </a>
                )}
              </p>
            </>
          )}
        </main>
      </>
    ),
  }
}

interface Filter {
  readonly action?: string
  readonly actor?: string
}

/** The filter of the query. An empty choice is left out. */
function filterOf(query: URLSearchParams): Filter {
  const [action, actor] = [query.get('action'), query.get('actor')]
  return { ...(action && { action }), ...(actor && { actor }) }
}

interface FormProps {
  readonly action: string
  readonly members: Members
  readonly filter: Filter
}

function FilterForm({ action, members, filter }: FormProps) {
  const people = Object.fromEntries(members.map(({ user_id, name }) => [user_id, name]))
  const chosen = filter.action !== undefined &&
    !(filter.action in groups) && { [filter.action]: auditWords(filter.action) }
  const former = filter.actor !== undefined && !(filter.actor in people) && !(filter.actor in kinds)
  return (
    <form class="admin-filter" action={action}>
      <Choice name="action" label="Action" all="All actions" value={filter.action} choices={{ ...groups, ...chosen }} />
      <Choice
        name="actor"
        label="Who"
        all="Everyone"
        value={filter.actor}
        choices={{ ...people, ...kinds, ...(former && { [filter.actor ?? '']: 'A former member' }) }}
      />
      <button class="btn" type="submit">
        Filter
      </button>
    </form>
  )
}

interface ChoiceProps {
  readonly name: string
  readonly label: string
  /** The text of no choice. */
  readonly all: string
  readonly value: string | undefined
  /** Texts by value. */
  readonly choices: Readonly<Record<string, string>>
}

function Choice({ name, label, all, value, choices }: ChoiceProps) {
  return (
    <select name={name} aria-label={label}>
      <option value="">{all}</option>
      {Object.entries(choices).map(([one, text]) => (
        <option value={one} selected={one === value}>
          {text}
        </option>
      ))}
    </select>
  )
}
