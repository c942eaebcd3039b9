/** The members of an organisation, for its members. Owners manage them in the settings. */

import type { AnswerOf } from '../../http/in-process.ts'
import { readAsMember } from '../kit/scene-frames.tsx'
import type { Page, PageContext } from '../page-context.ts'
import { plural, When } from '../parts/dates.tsx'
import { countOpen, OrgTabs } from '../parts/org-tabs.tsx'
import { Pages, pageOffset } from '../parts/paging.tsx'
import { Avatar } from '../parts/people.tsx'
import { roleAnswers } from '../parts/roles.tsx'
import type { Urls } from '../urls.ts'

type Org = AnswerOf<'getOrg'>
type Member = AnswerOf<'listMembers'>['members'][number]

/** Members on a page. */
const pageSize = 100

export async function showPeople(visit: PageContext): Promise<Page> {
  const { api, urls, query, person } = visit
  const org = await readAsMember(visit, 'members')
  const offset = pageOffset(query.get('from'))
  const [told, open] = await Promise.all([
    api.listMembers({ path: { org_id: org.id }, query: { limit: pageSize, offset } }),
    countOpen(visit, org),
  ])
  const { members, total } = told
  return {
    ...{ kind: 'page', place: { org, crumb: 'Members' }, facts: { org, told, open } },
    head: { title: `Members · ${org.name}`, noIndex: true },
    body: () => (
      <>
        <OrgTabs {...{ urls, org, open }} here="members" />
        <main id="main" class="page people">
          <h1>Members</h1>
          <div class="meta">
            <span>{plural(total, 'member')}</span>
            <Manage urls={urls} org={org} />
          </div>
          <ul class="rows">
            {members.map((member) => (
              <Person member={member} isMe={member.user_id === person?.id} />
            ))}
          </ul>
          {members.length === 0 && <p class="empty">The list is shorter by now.</p>}
          <Pages base={urls.members(org.id)} {...{ offset, total }} size={pageSize} names={['Back', 'More members']} />
        </main>
      </>
    ),
  }
}

/** Every member may leave, which the settings page offers. */
function Manage({ urls, org }: { readonly urls: Urls; readonly org: Org }) {
  const href = urls.settings(org.id, 'members')
  return (
    <span class="act">
      {org.role === 'owner' ? (
        <a class="btn small" href={href}>
          Invite and manage members
        </a>
      ) : (
        <a class="btn small" href={href}>
          Leave…
        </a>
      )}
    </span>
  )
}

function Person({ member, isMe }: { readonly member: Member; readonly isMe: boolean }) {
  const { name, email, role, created_at } = member
  return (
    <li>
      <Avatar name={name} />
      <div>
        <strong>{name}</strong>
        {isMe && ' (you)'}
        <small>
          {email} · since <When time={created_at} as="day" />
        </small>
      </div>
      <p>
        {role.replace(/^./, (letter) => letter.toUpperCase())}
        <small>{roleAnswers.find(([one]) => one === role)?.[2]}</small>
      </p>
    </li>
  )
}
