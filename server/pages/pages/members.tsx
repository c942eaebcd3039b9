/** The members of an organisation: their roles, and adding, inviting and removing them. */

import type { AnswerOf } from '../../http/in-process.ts'
import { hidden, line } from '../kit/controls.tsx'
import { Row, Rows, Section } from '../kit/parts.tsx'
import { orgFrame } from '../kit/scene-frames.tsx'
import { act, settings } from '../kit/settings.tsx'
import { type PageContext, param } from '../page-context.ts'
import { BotMark } from '../parts/bots.tsx'
import { plural, When } from '../parts/dates.tsx'
import { Pages, pageOffset } from '../parts/paging.tsx'
import { roleAnswers } from '../parts/roles.tsx'
import { InvitationRow, invite, revoke, role } from './invitations.tsx'

type Member = AnswerOf<'listMembers'>['members'][number]

/** Members on a page, and open invitations listed. */
const size = 100

function put(visit: PageContext, { email, role }: Pick<Member, 'email' | 'role'>) {
  return visit.api.putMember({ path: { org_id: param(visit, 'org'), email }, body: { role } })
}

async function remove(visit: PageContext, { email }: Pick<Member, 'email'>) {
  await visit.api.removeMember({ path: { org_id: param(visit, 'org'), email } })
  return email === visit.person?.email ? visit.urls.home() : undefined
}

export const membersPage = settings({
  frame: orgFrame('members'),
  title: 'Members',
  async read({ api, query }, { org }) {
    const path = { org_id: org.id }
    const offset = pageOffset(query.get('from'))
    const list = await api.listMembers({ path, query: { limit: size, offset } })
    const isOwner = org.role === 'owner'
    const open = isOwner ? (await api.listInvitations({ path, query: { limit: size } })).invitations : []
    return { ...list, isOwner, open }
  },
  acts: {
    ...{ invite, revoke },
    add: act('Add member', { email: line('E-mail', { type: 'email' }), role }, put),
    put: act('Change', { email: hidden, role }, put),
    remove: act('Remove', { email: hidden }, remove, 'stop'),
    leave: act('Leave', { email: hidden }, remove, 'stop'),
  },
  view: ({ members, total, offset, isOwner, open }, { form, ask, visit: { person, urls }, action }, { org }) => (
    <>
      <p class="why">{plural(total, 'member')}</p>
      <Rows of={members}>
        {(member) => (
          <Row
            title={
              <>
                <strong>{member.name}</strong> {member.is_bot && <BotMark />}
              </>
            }
            facts={
              <>
                {member.email} · since <When time={member.created_at} as="day" />
              </>
            }
          >
            {isOwner && !member.is_bot ? <RoleForm member={member} action={action} /> : <span>{member.role}</span>}
            {isOwner && member.is_bot && (
              <a class="btn" href={urls.bot(org.id, member.user_id)}>
                Manage
              </a>
            )}
            {isOwner &&
              !member.is_bot &&
              member.email !== person?.email &&
              ask('remove', `${member.name} loses access immediately. Their contributions stay.`, {
                ...{ values: { email: member.email }, of: member.name },
              })}
            {member.email === person?.email &&
              ask('leave', 'You immediately lose access to everything that is not published.', {
                values: { email: member.email },
              })}
          </Row>
        )}
      </Rows>
      <Pages base={action} {...{ offset, size, total }} names={['Previous', 'Next']} />
      {isOwner && (
        <>
          <Section title="Invite people" why="People join with a link. They do not need an account yet.">
            <Rows of={open}>
              {(one) => <InvitationRow of={one}>{form('revoke', { values: { invitation_id: one.id } })}</InvitationRow>}
            </Rows>
            {form('invite')}
          </Section>
          <Section title="Add a member">{ask('add', 'The user must have signed up here.')}</Section>
        </>
      )}
    </>
  ),
})

/** The role of a member, on one line. */
function RoleForm({ member, action }: { readonly member: Member; readonly action: string }) {
  return (
    <form method="post" action={action} class="line">
      <input type="hidden" name="email" value={member.email} />
      <select name="role" aria-label={`Role of ${member.name}`}>
        {roleAnswers.map(([role, words]) => (
          <option value={role} selected={role === member.role}>
            {words}
          </option>
        ))}
      </select>
      <button class="btn" type="submit" name="act" value="put" aria-label={`Change the role of ${member.name}`}>
        Change
      </button>
    </form>
  )
}
