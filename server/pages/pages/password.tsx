/** The password of the signed-in user. */

import { AppError, ValidationError } from '../../base/errors.ts'
import type { Page, PageContext, PageResult } from '../page-context.ts'
import { ConfirmLinks } from '../parts/confirm-links.tsx'
import { Field, field, submitForm, type Trouble, TroubleOf } from '../parts/forms.tsx'
import { MeTabs } from '../parts/me-tabs.tsx'

/** Minimum and maximum characters. */
const password = { least: 8, most: 256 } as const

export function showPassword(visit: PageContext): Promise<Page> {
  return passwordPage(visit)
}

export async function takePassword(visit: PageContext): Promise<PageResult> {
  const { form, urls } = visit
  return submitForm(
    (trouble) => passwordPage(visit, trouble),
    async () => {
      const old = form.has('old_password') ? { old_password: field(form, 'old_password') } : {}
      const body = { ...old, new_password: field(form, 'new_password') }
      await visit.signIn((await change(visit, body)).accessToken)
      return `${urls.me('password')}?saved`
    },
  )
}

/** Changes the password. @throws ValidationError at `old_password` if it is wrong */
async function change({ api }: PageContext, body: { old_password?: string; new_password: string }) {
  try {
    return await api.changePassword({ body })
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'invalid_credentials') throw error
    throw new ValidationError([
      { loc: ['body', 'old_password'], msg: 'This is not your current password', type: 'value_error' },
    ])
  }
}

async function passwordPage(visit: PageContext, trouble?: Trouble): Promise<Page> {
  const { api, urls, query, oidc } = visit
  // Asks anonymous visitors to sign in.
  const isFirst = (await api.getMe({})).has_password === false
  const isSaved = trouble === undefined && query.has('saved')
  return {
    ...{ kind: 'page', place: { crumb: 'Password' }, facts: { trouble, isSaved, isFirst } },
    head: { title: 'Password · Grove', noIndex: true },
    body: () => (
      <main id="main" class="page settings">
        <h1>Password</h1>
        <MeTabs urls={urls} here="password" hasServices={oidc.services.length > 0} />
        {isSaved && <p class="notice">Your password was changed. All other sessions have ended. Tokens stay valid.</p>}
        <p class="why">
          All other <a href={urls.me('sessions')}>sessions</a> end when you change it.{' '}
          <a href={urls.me('tokens')}>Tokens</a> stay valid.
        </p>
        <TroubleOf trouble={trouble} fields={['old_password', 'new_password']} />
        {isFirst && <ConfirmLinks visit={visit} next={urls.me('password')} />}
        <form method="post" action={urls.me('password')} class="fields">
          {!isFirst && (
            <Password label="Current password" name="old_password" autocomplete="current-password" trouble={trouble} />
          )}
          <Password label="New password" name="new_password" autocomplete="new-password" trouble={trouble} />
          <button class="btn go" type="submit">
            {isFirst ? 'Set password' : 'Change password'}
          </button>
        </form>
      </main>
    ),
  }
}

interface PasswordProps {
  readonly label: string
  readonly name: string
  readonly autocomplete: 'current-password' | 'new-password'
  readonly trouble?: Trouble | undefined
  /** Prefix of the id, if another form has a field with this name. */
  readonly of?: string
}

/** A password field. A new password has a minimum length. */
export function Password({ label, name, autocomplete, trouble, of }: PasswordProps) {
  const isNew = autocomplete === 'new-password'
  return (
    <Field
      label={label}
      hint={isNew ? `at least ${password.least} characters` : undefined}
      name={name}
      trouble={trouble}
      {...(of === undefined ? {} : { of })}
    >
      {(tied) => (
        <input
          {...{ ...tied, autocomplete }}
          {...(isNew ? { minLength: password.least } : {})}
          type="password"
          required
          maxLength={password.most}
        />
      )}
    </Field>
  )
}
