/** The password of the signed-in user. */

import { newPassword, proof } from '../kit/controls.tsx'
import { meFrame } from '../kit/scene-frames.tsx'
import { act, settings } from '../kit/settings.tsx'
import type { PageContext } from '../page-context.ts'
import { ConfirmLinks } from '../parts/confirm-links.tsx'

async function change(visit: PageContext, body: { readonly old_password?: string; readonly new_password: string }) {
  await visit.signIn((await visit.api.changePassword({ body })).accessToken)
}

const changed = 'Your password was changed. All other sessions have ended. Tokens stay valid.'

export const passwordPage = settings({
  frame: meFrame('password'),
  title: 'Password',
  says: { set: changed, change: changed },
  // Asks anonymous visitors to sign in.
  read: async ({ api }) => ({ isFirst: (await api.getMe({})).has_password === false }),
  acts: {
    set: act('Set password', { new_password: newPassword }, change),
    change: act('Change password', { old_password: proof('Current password'), new_password: newPassword }, change),
  },
  view: ({ isFirst }, { form, visit }) => (
    <>
      <p class="why">
        All other <a href={visit.urls.me('sessions')}>sessions</a> end when you change it.{' '}
        <a href={visit.urls.me('tokens')}>Tokens</a> stay valid.
      </p>
      {isFirst && <ConfirmLinks visit={visit} next={visit.urls.me('password')} />}
      {form(isFirst ? 'set' : 'change')}
    </>
  ),
})
