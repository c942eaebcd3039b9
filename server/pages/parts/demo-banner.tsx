/** The banner of a demo. It changes the user by the forms to sign in and out. */

import type { DemoNotice, PageContext } from '../page-context.ts'

interface Props {
  readonly visit: Pick<PageContext, 'urls' | 'person' | 'here'>
  readonly demo: DemoNotice
}

export function DemoBanner({ visit: { urls, person, here }, demo: { org, accounts } }: Props) {
  // The form to sign in would be shown again to a user who has just signed in.
  const next = here.startsWith(urls.signIn()) ? urls.org(org) : here
  return (
    <aside class="notice demo" aria-label="Demo">
      <p>
        This is a demo: the handbook of <a href={urls.org(org)}>Selkie Point</a>, which is invented. You are{' '}
        <b>{person?.name ?? 'not signed in'}</b>.
      </p>
      <div class="acts">
        {accounts
          .filter(({ name }) => name !== person?.name)
          .map(({ name, role, email, password }) => (
            <form method="post" action={urls.signIn()}>
              <input type="hidden" name="email" value={email} />
              <input type="hidden" name="password" value={password} />
              <input type="hidden" name="next" value={next} />
              <button class="btn small" type="submit">
                Be {name.split(' ', 1)[0]}, {role}
              </button>
            </form>
          ))}
        {person && (
          <form method="post" action={urls.signOut()} data-sign-out>
            <input type="hidden" name="next" value={next} />
            <button class="btn small" type="submit">
              Read without an account
            </button>
          </form>
        )}
      </div>
    </aside>
  )
}
