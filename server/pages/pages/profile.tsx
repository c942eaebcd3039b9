/** The profile of the signed-in user: name, e-mail address, and deleting the account. */

import { AppError, ValidationError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { type Page, type PageContext, type PageResult, redirect } from '../page-context.ts'
import { ConfirmLinks } from '../parts/confirm-links.tsx'
import { EmailField, Field, field, showFormErrors, submitForm, type Trouble, TroubleOf } from '../parts/forms.tsx'
import { MeTabs } from '../parts/me-tabs.tsx'
import { Password } from './password.tsx'

type Me = AnswerOf<'getMe'>

/** Notices after a form was accepted, by the value in the query. */
const notices: Readonly<Record<string, string>> = {
  profile: 'Your profile was saved. Earlier commits keep the name and e-mail address that they have.',
  verify:
    'A mail is on its way. Its link works for three days. You can also enter its code on the page that the link leads to.',
  pending:
    'A mail is on its way to the new address. Follow its link within a day. Until then, sign in with the former address.',
  email: 'Your e-mail address was changed. Sign in with the new one. Earlier commits keep the former one.',
}

export function showProfile(visit: PageContext): Promise<Page> {
  return profilePage(visit)
}

export async function takeProfile(visit: PageContext): Promise<PageResult> {
  const { api, form, urls } = visit
  const again = (trouble: Trouble) => profilePage(visit, trouble)
  const act = field(form, 'act')
  switch (act) {
    case 'profile':
      return submitForm(again, async () => {
        await api.updateMe({ body: { name: field(form, 'name').trim(), hide_email: form.has('hide_email') } })
        return `${urls.me('profile')}?saved=${act}`
      })
    case 'email':
      return submitForm(again, async () => {
        const body = { new_email: field(form, 'new_email').trim(), ...passwordIn(form, 'password') }
        const { pending_email } = await withPassword('password', () => api.changeEmail({ body }))
        return `${urls.me('profile')}?saved=${pending_email === undefined ? act : 'pending'}`
      })
    case 'verify':
      return submitForm(again, async () => {
        await api.requestVerification({})
        return `${urls.me('profile')}?saved=${act}`
      })
    case 'delete':
      try {
        const body = passwordIn(form, 'delete_password')
        await withPassword('delete_password', () => api.deleteMe({ body }))
      } catch (error) {
        return showFormErrors(error, again)
      }
      await visit.signOut()
      return redirect(303, urls.goodbye())
    default:
      throw new AppError('bad_request', 'The form does not name a known action')
  }
}

/** Empty if the form has no such field, because the account has no password. */
function passwordIn(form: URLSearchParams, name: string): { password?: string } {
  return form.has(name) ? { password: field(form, name) } : {}
}

/** Runs `act`. @throws ValidationError at the field if its password is wrong, or the new address is taken */
async function withPassword<R>(name: string, act: () => Promise<R>): Promise<R> {
  try {
    return await act()
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    if (error.code === 'invalid_credentials') throw invalidAt(name, 'This is not your current password')
    if (error.code === 'email_taken') throw invalidAt('new_email', error.message)
    throw error
  }
}

function invalidAt(name: string, msg: string): ValidationError {
  return new ValidationError([{ loc: ['body', name], msg, type: 'value_error' }])
}

async function profilePage(visit: PageContext, trouble?: Trouble): Promise<Page> {
  const { api, urls, query, form, oidc } = visit
  const me = await api.getMe({})
  const saved = trouble === undefined ? query.get('saved') : null
  const notice = saved === null ? undefined : notices[saved]
  return {
    ...{ kind: 'page', place: { crumb: 'Profile' }, facts: { me, trouble, notice } },
    head: { title: 'Profile · Grove', noIndex: true },
    body: () => (
      <main id="main" class="page settings">
        <h1>Profile</h1>
        <MeTabs urls={urls} here="profile" hasServices={oidc.services.length > 0} />
        {notice !== undefined && (
          <p class="notice" role="status">
            {notice}
          </p>
        )}
        <TroubleOf trouble={trouble} fields={['name', 'new_email', 'password', 'delete_password']} />
        {me.has_password === false && <ConfirmLinks visit={visit} next={urls.me('profile')} />}
        <NameForm {...{ me, form, trouble }} action={urls.me('profile')} />
        <section>
          <h2>E-mail</h2>
          {visit.sendsMail && <Verification me={me} action={urls.me('profile')} code={urls.verify()} />}
          <EmailForm {...{ me, form, trouble }} action={urls.me('profile')} />
        </section>
        <section>
          <h2>Delete your account</h2>
          <DeleteForm {...{ me, form, trouble }} action={urls.me('profile')} />
        </section>
      </main>
    ),
  }
}

interface FormProps {
  readonly me: Me
  /** The form that was sent. */
  readonly form: URLSearchParams
  readonly trouble: Trouble | undefined
  readonly action: string
}

function NameForm({ me, form, trouble, action }: FormProps) {
  const isSent = form.get('act') === 'profile'
  return (
    <form method="post" action={action} class="fields">
      <Field label="Name" hint="shown as the author of your changes" name="name" trouble={trouble}>
        {(tied) => (
          <input
            {...tied}
            required
            autocomplete="name"
            maxLength={limits.displayName}
            value={isSent ? field(form, 'name') : me.name}
          />
        )}
      </Field>
      <label class="check">
        <input type="checkbox" name="hide_email" checked={isSent ? form.has('hide_email') : me.hide_email === true} />
        <span>
          Hide my e-mail address in later commits. Earlier commits keep it, because history cannot be changed.
        </span>
      </label>
      <button class="btn go" type="submit" name="act" value="profile">
        Save
      </button>
    </form>
  )
}

interface VerificationProps {
  readonly me: Me
  readonly action: string
  /** The page that takes the code of the mail. */
  readonly code: string
}

/** Says if the address is confirmed, and sends the mail again. */
function Verification({ me, action, code }: VerificationProps) {
  if (me.email_verified === true) return <p class="why">Your e-mail address is confirmed.</p>
  return (
    <form method="post" action={action}>
      <p class="why">
        Your e-mail address is not confirmed yet. Follow the link in the mail, or <a href={code}>enter its code</a>.
      </p>
      <button class="btn" type="submit" name="act" value="verify">
        Send the mail again
      </button>
    </form>
  )
}

function EmailForm({ me, form, trouble, action }: FormProps) {
  return (
    <>
      <p class="why">You sign in with {me.email}.</p>
      <form method="post" action={action} class="fields">
        <EmailField
          label="New e-mail"
          name="new_email"
          autocomplete="email"
          value={field(form, 'new_email')}
          trouble={trouble}
        />
        {me.has_password !== false && (
          <Password label="Current password" name="password" autocomplete="current-password" trouble={trouble} />
        )}
        <button class="btn" type="submit" name="act" value="email">
          Change e-mail
        </button>
      </form>
    </>
  )
}

function DeleteForm({ me, form, trouble, action }: FormProps) {
  return (
    <details open={form.get('act') === 'delete'}>
      <summary class="btn stop">Delete your account…</summary>
      <p class="why">
        Your account is deleted with its sessions and tokens, and you leave every organisation. Organisations without
        another member go to the trash. Contributions stay. Git history keeps your name and e-mail address in commits,
        proposals and earlier versions of member files. This cannot be undone.
      </p>
      <form method="post" action={action} class="fields">
        {me.has_password !== false && (
          <Password
            label="Your password, to confirm"
            name="delete_password"
            autocomplete="current-password"
            trouble={trouble}
          />
        )}
        <button class="btn stop" type="submit" name="act" value="delete">
          Delete account
        </button>
      </form>
    </details>
  )
}

/** Shown after an account was deleted, to anybody. */
export async function showGoodbye({ urls }: PageContext): Promise<Page> {
  return {
    ...{ kind: 'page', place: {}, facts: {}, head: { title: 'Account deleted · Grove', noIndex: true } },
    body: () => (
      <main id="main" class="sheet">
        <h1>Account deleted</h1>
        <p class="lede">
          The account was deleted, and all its sessions and tokens have ended. Organisations that had no other member
          are in the trash. Git history keeps the name and e-mail address in commits.
        </p>
        <p class="acts">
          <a class="btn" href={urls.home()}>
            Home
          </a>
        </p>
      </main>
    ),
  }
}
