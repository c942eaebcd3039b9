/** The password and the sessions of the signed-in user. */

import { AppError, ValidationError } from '../../base/errors.ts'
import type { Page, PageContext, PageResult } from '../page-context.ts'
import { When } from '../parts/dates.tsx'
import { Field, field, submitForm, Tabs, type Trouble, TroubleOf } from '../parts/forms.tsx'
import type { Urls } from '../urls.ts'

/** Maximum sessions listed. */
const mostSessions = 50
/** Minimum and maximum characters. */
const password = { least: 8, most: 256 } as const

export function showPassword(visit: PageContext): Promise<Page> {
  return passwordPage(visit)
}

export async function takePassword(visit: PageContext): Promise<PageResult> {
  const { api, form, urls } = visit
  return submitForm(
    (trouble) => passwordPage(visit, trouble),
    async () => {
      switch (form.get('act')) {
        case 'change': {
          const body = { old_password: field(form, 'old_password'), new_password: field(form, 'new_password') }
          await visit.signIn((await change(visit, body)).accessToken)
          return `${urls.me('password')}?saved=password`
        }
        case 'end':
          await api.endOtherSessions({})
          return `${urls.me('password')}?saved=sessions`
        default:
          throw new AppError('bad_request', 'The form does not name a known action')
      }
    },
  )
}

/** Changes the password. @throws ValidationError at `old_password` if it is wrong */
async function change({ api }: PageContext, body: { old_password: string; new_password: string }) {
  try {
    return await api.changePassword({ body })
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'invalid_credentials') throw error
    throw new ValidationError([
      { loc: ['body', 'old_password'], msg: 'This is not your current password', type: 'value_error' },
    ])
  }
}

async function passwordPage({ api, urls, query }: PageContext, trouble?: Trouble): Promise<Page> {
  const { sessions, total } = await api.listSessions({ query: { limit: mostSessions } })
  const saved = trouble === undefined ? query.get('saved') : null
  const action = urls.me('password')
  return {
    ...{ kind: 'page', place: { crumb: 'Password' }, facts: { sessions, trouble } },
    head: { title: 'Password · Grove', noIndex: true },
    body: () => (
      <main id="main" class="page settings">
        <h1>Password</h1>
        <MeTabs urls={urls} here="password" />
        {saved === 'password' && (
          <p class="notice">Your password was changed. All other sessions have ended. Tokens stay valid.</p>
        )}
        {saved === 'sessions' && <p class="notice">All other sessions have ended.</p>}
        <TroubleOf trouble={trouble} fields={['old_password', 'new_password']} />
        <form method="post" action={action} class="fields">
          <input type="hidden" name="act" value="change" />
          <Password label="Current password" name="old_password" autocomplete="current-password" trouble={trouble} />
          <Password label="New password" name="new_password" autocomplete="new-password" trouble={trouble} />
          <button class="btn go" type="submit">
            Change password
          </button>
        </form>
        <section>
          <h2>Sessions</h2>
          <ul class="rows">
            {sessions.map(({ current, created_at, user_agent, address }) => (
              <li>
                <div>
                  <strong>{current ? 'This browser' : (user_agent ?? 'Unknown client')}</strong>
                  <small>
                    since <When time={created_at} as="day" />
                    {address && ` · ${address}`}
                  </small>
                </div>
              </li>
            ))}
          </ul>
          {total > 1 && (
            <details>
              <summary class="btn">Sign out everywhere else…</summary>
              <form method="post" action={action} class="ask">
                <p>All other sessions end immediately. Tokens stay valid.</p>
                <button type="submit" class="btn stop" name="act" value="end">
                  Sign out everywhere else
                </button>
              </form>
            </details>
          )}
        </section>
      </main>
    ),
  }
}

interface PasswordProps {
  readonly label: string
  readonly name: string
  readonly autocomplete: 'current-password' | 'new-password'
  readonly trouble?: Trouble | undefined
}

/** A password field. A new password has a minimum length. */
export function Password({ label, name, autocomplete, trouble }: PasswordProps) {
  const isNew = autocomplete === 'new-password'
  return (
    <Field
      label={label}
      hint={isNew ? `at least ${password.least} characters` : undefined}
      name={name}
      trouble={trouble}
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

export function MeTabs({ urls, here }: { readonly urls: Urls; readonly here: 'tokens' | 'password' }) {
  const tabs = [
    { title: 'Tokens', href: urls.me('tokens'), isHere: here === 'tokens' },
    { title: 'Password', href: urls.me('password'), isHere: here === 'password' },
  ]
  return <Tabs label="Your account" tabs={tabs} />
}
