/** Invitations to an organisation, which its owners create. */

import * as limits from '../../base/limits.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import type { PageContext } from '../page-context.ts'
import { plural, When } from '../parts/dates.tsx'
import { Field, field, type Trouble } from '../parts/forms.tsx'
import { RoleOptions, roleOf } from '../parts/roles.tsx'

type Invitation = AnswerOf<'listInvitations'>['invitations'][number]
export type MadeInvitation = AnswerOf<'createInvitation'>

/** Maximum invitations listed; maximum characters of an e-mail address. */
const most = { open: 100 } as const
/** Maximum characters of a field for an invitation. */
export const mostInvitation = 4096
const dayMs = 86_400_000
/** Lifetimes of an invitation in days. */
const lifetimes = [1, 7, 30] as const
/** Numbers of people who can use an invitation. */
const uses = [1, 10, 100, 1000] as const

/** Creates an invitation. @throws AppError, ValidationError: an invalid e-mail address is the field `email` */
export function createInvitation({ api, form }: PageContext, org_id: string): Promise<MadeInvitation> {
  const [email, days] = [field(form, 'email').trim(), lifetimes.find((one) => String(one) === form.get('days')) ?? 7]
  const body = {
    role: roleOf(form),
    uses: uses.find((one) => String(one) === form.get('uses')) ?? 1,
    expires_at: new Date(Date.now() + days * dayMs - 1_000).toISOString(),
    ...(email && { email }),
  }
  return api.createInvitation({ path: { org_id }, body })
}

/** Reads the open invitations. Only owners may do so. */
export async function readInvitations({ api }: PageContext, org_id: string): Promise<readonly Invitation[]> {
  return (await api.listInvitations({ path: { org_id }, query: { limit: most.open } })).invitations
}

interface InvitationsProps {
  readonly visit: PageContext
  readonly action: string
  readonly open: readonly Invitation[]
  /** The invitation that was just created. */
  readonly made: MadeInvitation | undefined
  readonly trouble: Trouble | undefined
}

export function Invitations({ visit: { form }, action, open, made, trouble }: InvitationsProps) {
  const sent = form.get('act') === 'invite' && made === undefined ? form : new URLSearchParams()
  return (
    <section>
      <h2>Invite people</h2>
      <p class="why">People join with a link. They do not need an account yet.</p>
      {made && <NewInvitation made={made} />}
      {open.length > 0 && <OpenInvitations action={action} open={open} />}
      <InvitationForm action={action} sent={sent} trouble={trouble} />
    </section>
  )
}

/** The link of an invitation that was just created. */
function NewInvitation({ made }: { readonly made: MadeInvitation }) {
  return (
    <section class="made" aria-label="New invitation">
      {made.mailed === true && <p role="status">A mail with the link is on its way to {made.email}.</p>}
      {made.mailed === false && <p>You have sent too many invitations today, so it was not mailed.</p>}
      <p>
        {made.mailed === true ? 'You can also send this link.' : 'Send this link now.'} It is shown only once, and
        expires on <When time={made.expires_at} as="day" />.
      </p>
      <p class="copy" data-invitation>
        {made.url}
      </p>
      <p>
        <button type="button" class="btn" data-copy="[data-invitation]" hidden>
          Copy link
        </button>
      </p>
    </section>
  )
}

const mailWords = {
  waiting: 'its mail was not delivered yet, and is sent again',
  failed: 'its mail was refused: check the address, and invite again',
} as const

function OpenInvitations({ action, open }: Pick<InvitationsProps, 'action' | 'open'>) {
  return (
    <ul class="rows">
      {open.map((one) => (
        <li>
          <div>
            <strong>{one.email ?? 'Anyone with the link'}</strong>
            <small>
              {one.role} · for {plural(one.uses_left, 'more person', 'more people')} · expires{' '}
              <When time={one.expires_at} />
              {one.mail !== undefined && ` · ${mailWords[one.mail]}`}
            </small>
          </div>
          <form method="post" action={action}>
            <input type="hidden" name="invitation" value={one.id} />
            <button type="submit" class="btn" name="act" value="revoke">
              Revoke
            </button>
          </form>
        </li>
      ))}
    </ul>
  )
}

interface FormProps extends Pick<InvitationsProps, 'action' | 'trouble'> {
  /** The fields that were sent and refused. */
  readonly sent: URLSearchParams
}

function InvitationForm({ action, sent, trouble }: FormProps) {
  return (
    <form method="post" action={action} class="fields">
      <input type="hidden" name="act" value="invite" />
      <Field
        label="Only for"
        hint="one e-mail address; leave empty for anyone with the link"
        name="email"
        of="invite"
        trouble={trouble}
      >
        {(tied) => (
          <input {...tied} type="email" autocomplete="off" maxLength={limits.email} value={field(sent, 'email')} />
        )}
      </Field>
      <Field label="Their role" name="role" of="invite">
        {(tied) => (
          <select {...tied}>
            <RoleOptions chosen={sent.get('role') ?? 'editor'} />
          </select>
        )}
      </Field>
      <Field label="Number of people" name="uses" of="invite">
        {(tied) => (
          <select {...tied}>
            {uses.map((count) => (
              <option value={count} selected={String(count) === sent.get('uses')}>
                {plural(count, 'person', 'people')}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Expires" name="days" of="invite">
        {(tied) => (
          <select {...tied}>
            {lifetimes.map((days) => (
              <option value={days} selected={String(days) === (sent.get('days') ?? '7')}>
                in {plural(days, 'day')}
              </option>
            ))}
          </select>
        )}
      </Field>
      <button class="btn go" type="submit">
        Create invitation
      </button>
    </form>
  )
}

/** Returns the token in the pasted text. It may be the token, the link, or a line that contains it. */
export function invitationIn(form: URLSearchParams): string {
  const sent = field(form, 'invitation').replace(/\s/g, '')
  return sent.match(/grv_invite_[\w-]+/)?.[0] ?? sent
}
