/** Invitations to an organisation, which its owners create. */

import type { VNode } from 'preact'
import type { AnswerOf } from '../../http/in-process.ts'
import { choice, expiry, hidden, more, optionalLine, question } from '../kit/controls.tsx'
import { Row, Secret } from '../kit/parts.tsx'
import { act } from '../kit/settings.tsx'
import { param } from '../page-context.ts'
import { plural, When } from '../parts/dates.tsx'
import { field } from '../parts/forms.tsx'
import { roleAnswers } from '../parts/roles.tsx'

type Invitation = AnswerOf<'listInvitations'>['invitations'][number]

/** Maximum characters of a field for an invitation. */
export const mostInvitation = 4096

export const role = question('May they propose, or publish?', roleAnswers, { start: 'editor' })

export const invite = act(
  'Create invitation',
  {
    email: optionalLine('E-mail (optional)', { hint: 'the only address that can use the link', type: 'email' }),
    role,
    ...more({
      uses: choice(
        'Number of people',
        [1, 10, 100, 1000].map((count) => [count, plural(count, 'person', 'people')] as const),
      ),
      expires_at: expiry([1, 7, 30], 7),
    }),
  },
  async (visit, body) => (
    <NewInvitation made={await visit.api.createInvitation({ path: { org_id: param(visit, 'org') }, body })} />
  ),
)

export const revoke = act('Revoke', { invitation_id: hidden }, (visit, { invitation_id }) =>
  visit.api.revokeInvitation({ path: { org_id: param(visit, 'org'), invitation_id } }),
)

/** The link of an invitation that was just created. */
function NewInvitation({ made: { email, mailed, expires_at, url } }: { readonly made: AnswerOf<'createInvitation'> }) {
  return (
    <Secret what="link" label="New invitation" secret={url}>
      {mailed === true && <p role="status">A mail with the link is on its way to {email}.</p>}
      {mailed === false && <p>You have sent too many invitations today, so it was not mailed.</p>}
      <p>
        {mailed === true ? 'You can also send this link.' : 'Send this link now.'} It is shown only once, and expires on{' '}
        <When time={expires_at} as="day" />.
      </p>
    </Secret>
  )
}

const mailWords = {
  waiting: 'its mail was not delivered yet, and is sent again',
  failed: 'its mail was refused: check the address, and invite again',
} as const

/** @param children takes it back */
export function InvitationRow({ of, children }: { readonly of: Invitation; readonly children: VNode }) {
  return (
    <Row
      title={<strong>{of.email ?? 'Anyone with the link'}</strong>}
      facts={
        <>
          {of.role} · for {plural(of.uses_left, 'more person', 'more people')} · expires <When time={of.expires_at} />
          {of.mail !== undefined && ` · ${mailWords[of.mail]}`}
        </>
      }
    >
      {children}
    </Row>
  )
}

/** Returns the token in the pasted text. It may be the token, the link, or a line that contains it. */
export function invitationIn(form: URLSearchParams): string {
  const sent = field(form, 'invitation').replace(/\s/g, '')
  return sent.match(/grv_invite_[\w-]+/)?.[0] ?? sent
}
