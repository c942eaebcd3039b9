/** The members of an organisation: their roles, and adding, inviting and removing them. */

import { AppError } from '../../base/errors.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { readAsMember, SettingsTabs } from '../kit/scene-frames.tsx'
import { type Page, type PageContext, type PageResult, param } from '../page-context.ts'
import { BotMark } from '../parts/bots.tsx'
import { plural, When } from '../parts/dates.tsx'
import { EmailField, Field, field, showFormErrors, submitForm, type Trouble, TroubleOf } from '../parts/forms.tsx'
import { countOpen, OrgTabs } from '../parts/org-tabs.tsx'
import { RoleOptions, roleOf, roles } from '../parts/roles.tsx'
import { createInvitation, Invitations, type MadeInvitation, readInvitations } from './invitations.tsx'

type Member = AnswerOf<'listMembers'>['members'][number]
/** Members on a page. */
const pageMembers = 100

export function showMembers(visit: PageContext): Promise<Page> {
  return membersPage(visit)
}

export async function takeMembers(visit: PageContext): Promise<PageResult> {
  const { api, form, urls, person } = visit
  const email = field(form, 'email').trim()
  const path = { org_id: param(visit, 'org'), email }
  const again = (trouble: Trouble) => membersPage(visit, { trouble })
  if (form.get('act') === 'invite')
    try {
      return await membersPage(visit, { made: await createInvitation(visit, path.org_id) })
    } catch (error) {
      return showFormErrors(error, again)
    }
  return submitForm(again, async () => {
    switch (form.get('act')) {
      case 'put':
        await api.putMember({ path, body: { role: roleOf(form) } })
        break
      case 'remove':
        await api.removeMember({ path })
        if (email === person?.email) return urls.home()
        break
      case 'revoke':
        await api.revokeInvitation({ path: { ...path, invitation_id: field(form, 'invitation') } })
        break
      default:
        throw new AppError('bad_request', 'The form does not name a known action')
    }
    return urls.settings(path.org_id, 'members')
  })
}

interface More {
  readonly trouble?: Trouble
  readonly made?: MadeInvitation
}

async function membersPage(visit: PageContext, { trouble, made }: More = {}): Promise<Page> {
  const read = await readMembers(visit)
  const { org, open, invitations, isOwner } = read
  const { urls, form } = visit
  const action = urls.settings(org.id, 'members')
  const isAdding = form.has('adding')
  const isInviting = form.get('act') === 'invite'
  return {
    ...{ kind: 'page', place: { org, crumb: 'Settings' }, facts: { ...read, trouble, made: made?.id } },
    head: { title: `Members · ${org.name}`, noIndex: true },
    body: () => (
      <>
        <OrgTabs {...{ urls, org, open }} here="settings" />
        <main id="main" class="page settings">
          <h1>Members</h1>
          <SettingsTabs urls={urls} org={org.id} here="members" />
          <TroubleOf trouble={trouble} fields={isAdding || isInviting ? ['email'] : []} />
          <MemberList visit={visit} read={read} action={action} />
          {isOwner && (
            <Invitations {...{ visit, action, made }} open={invitations} trouble={isInviting ? trouble : undefined} />
          )}
          {isOwner && <Addition form={form} action={action} isAgain={isAdding} trouble={trouble} />}
        </main>
      </>
    ),
  }
}

type Read = Awaited<ReturnType<typeof readMembers>>

async function readMembers(visit: PageContext) {
  const { api, query } = visit
  const org = await readAsMember(visit)
  const open = await countOpen(visit, org)
  const offset = pageOf(query) * pageMembers
  const { members, total } = await api.listMembers({ path: { org_id: org.id }, query: { limit: pageMembers, offset } })
  const isOwner = org.role === 'owner'
  return {
    org,
    open,
    members,
    total,
    offset,
    isOwner,
    invitations: isOwner ? await readInvitations(visit, org.id) : [],
  }
}

interface MemberListProps {
  readonly visit: PageContext
  readonly read: Read
  readonly action: string
}

function MemberList({ visit: { person, urls }, read, action }: MemberListProps) {
  const { org, members, total, offset, isOwner } = read
  return (
    <>
      <p class="why">{plural(total, 'member')}</p>
      <ul class="rows">
        {members.map((member) => (
          <li>
            <div>
              <strong>{member.name}</strong> {member.is_bot && <BotMark />}
              <small>
                {member.email} · since <When time={member.created_at} as="day" />
              </small>
            </div>
            {isOwner && !member.is_bot ? <RoleForm member={member} action={action} /> : <span>{member.role}</span>}
            {isOwner && member.is_bot && (
              <a class="btn" href={urls.bot(org.id, member.user_id)}>
                Manage
              </a>
            )}
            {!member.is_bot && (isOwner || member.email === person?.email) && (
              <Removal member={member} action={action} isMe={member.email === person?.email} />
            )}
          </li>
        ))}
      </ul>
      {offset + members.length < total && (
        <p>
          <a class="btn" href={`${action}?page=${offset / pageMembers + 2}`}>
            Show more members
          </a>
        </p>
      )}
    </>
  )
}

interface AdditionProps {
  readonly form: URLSearchParams
  readonly action: string
  /** True if this form was sent and refused. */
  readonly isAgain: boolean
  readonly trouble: Trouble | undefined
}

/** The form that adds a user to the organisation. */
function Addition({ form, action, isAgain, trouble }: AdditionProps) {
  return (
    <section>
      <h2>Add a member</h2>
      <form method="post" action={action} class="fields">
        <input type="hidden" name="act" value="put" />
        <input type="hidden" name="adding" value="1" />
        <EmailField
          hint="of a user who has signed up here"
          autocomplete="off"
          value={isAgain ? field(form, 'email') : ''}
          trouble={isAgain ? trouble : undefined}
        />
        <Field label="Role" name="role">
          {(tied) => (
            <select {...tied}>
              <RoleOptions chosen={isAgain ? form.get('role') : 'editor'} />
            </select>
          )}
        </Field>
        <button class="btn go" type="submit">
          Add member
        </button>
      </form>
    </section>
  )
}

/** Returns the page number in the query, from 0. */
function pageOf(query: URLSearchParams): number {
  const text = query.get('page') ?? ''
  return /^[1-9]\d{0,3}$/.test(text) ? Number(text) - 1 : 0
}

interface MemberProps {
  readonly member: Member
  readonly action: string
}

function RoleForm({ member, action }: MemberProps) {
  return (
    <form method="post" action={action} class="line">
      <input type="hidden" name="act" value="put" />
      <input type="hidden" name="email" value={member.email} />
      <select name="role" aria-label={`Role of ${member.name}`}>
        {roles.map(({ role }) => (
          <option value={role} selected={role === member.role}>
            {role}
          </option>
        ))}
      </select>
      <button class="btn" type="submit" aria-label={`Change the role of ${member.name}`}>
        Change
      </button>
    </form>
  )
}

function Removal({ member, action, isMe }: MemberProps & { readonly isMe: boolean }) {
  const what = isMe ? 'Leave' : `Remove ${member.name}`
  return (
    <details>
      <summary class="btn" aria-label={`${what}…`}>
        {isMe ? 'Leave…' : 'Remove…'}
      </summary>
      <form method="post" action={action} class="ask">
        <p>
          {isMe
            ? 'You immediately lose access to everything that is not published.'
            : `${member.name} loses access immediately. Their contributions stay.`}
        </p>
        <input type="hidden" name="email" value={member.email} />
        <button type="submit" class="btn stop" name="act" value="remove">
          {what}
        </button>
      </form>
    </details>
  )
}
