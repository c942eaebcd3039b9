/** The profile of the signed-in user: name, e-mail address, and deleting the account. */

import { AppError, invalid } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { check, line, proof } from '../kit/controls.tsx'
import { Section } from '../kit/parts.tsx'
import { meFrame } from '../kit/scene-frames.tsx'
import { act, settings } from '../kit/settings.tsx'
import type { Page, PageContext } from '../page-context.ts'
import { ConfirmLinks } from '../parts/confirm-links.tsx'

export const profilePage = settings({
  frame: meFrame('profile'),
  title: 'Profile',
  says: {
    profile: 'Your profile was saved. Earlier commits keep the name and e-mail address that they have.',
    verify:
      'A mail is on its way. Its link works for three days. You can also enter its code on the page that the link leads to.',
    pending:
      'A mail is on its way to the new address. Follow its link within a day. Until then, sign in with the former address.',
    email: 'Your e-mail address was changed. Sign in with the new one. Earlier commits keep the former one.',
  },
  read: ({ api }) => api.getMe({}),
  acts: {
    profile: act(
      'Save',
      {
        name: line('Name', {
          ...{ hint: 'shown as the author of your changes', autocomplete: 'name', most: limits.displayName },
        }),
        hide_email: check(
          'Hide my e-mail address in later commits. Earlier commits keep it, because history cannot be changed.',
        ),
      },
      ({ api }, body) => api.updateMe({ body }),
    ),
    email: act(
      'Change e-mail',
      {
        new_email: line('New e-mail', { type: 'email', autocomplete: 'email' }),
        password: proof('Current password'),
      },
      async ({ api, urls }, body) => {
        const { pending_email } = await api.changeEmail({ body }).catch(throwAtEmail)
        return pending_email === undefined ? undefined : `${urls.me('profile')}?saved=pending`
      },
      'plain',
    ),
    verify: act('Send the mail again', {}, ({ api }) => api.requestVerification({})),
    delete: act(
      'Delete account',
      { password: proof('Your password, to confirm') },
      async (visit, body) => {
        await visit.api.deleteMe({ body })
        await visit.signOut()
        return visit.urls.goodbye()
      },
      'stop',
    ),
  },
  view: (me, { form, ask, visit }) => {
    const without = me.has_password === false ? (['password'] as const) : undefined
    return (
      <>
        {without && <ConfirmLinks visit={visit} next={visit.urls.me('profile')} />}
        {form('profile', { values: { name: me.name, hide_email: me.hide_email === true } })}
        <Section title="E-mail">
          {visit.sendsMail && me.email_verified === true && <p class="why">Your e-mail address is confirmed.</p>}
          {visit.sendsMail && me.email_verified !== true && (
            <>
              <p class="why">
                Your e-mail address is not confirmed yet. Follow the link in the mail, or{' '}
                <a href={visit.urls.verify()}>enter its code</a>.
              </p>
              {form('verify')}
            </>
          )}
          <p class="why">You sign in with {me.email}.</p>
          {form('email', { without })}
        </Section>
        <Section title="Delete your account">
          {ask(
            'delete',
            'Your account is deleted with its sessions and tokens, and you leave every organisation. Organisations without another member go to the trash. Contributions stay. Git history keeps your name and e-mail address in commits, proposals and earlier versions of member files. This cannot be undone.',
            { without },
          )}
        </Section>
      </>
    )
  },
})

/** @throws ValidationError at the field if the new address is taken, otherwise the error */
function throwAtEmail(error: unknown): never {
  if (error instanceof AppError && error.code === 'email_taken') throw invalid(['body', 'new_email'], error.message)
  throw error
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
