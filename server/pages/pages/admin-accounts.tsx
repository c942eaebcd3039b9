/** All accounts, for administrators, and the form that creates one. */

import * as limits from '../../base/limits.ts'
import { check, line, optionalLine } from '../kit/controls.tsx'
import { Notice, Row, Rows } from '../kit/parts.tsx'
import { adminFrame } from '../kit/scene-frames.tsx'
import { act, settings } from '../kit/settings.tsx'
import { type PageContext, type PageResult, redirect } from '../page-context.ts'
import { AccountMarks, LastSeen } from '../parts/account-state.tsx'
import { plural } from '../parts/dates.tsx'
import { Pages, pageOffset } from '../parts/paging.tsx'
import { ResetLink } from '../parts/reset-link.tsx'

/** Accounts on a page. */
const size = 50

const states = { all: 'All', active: 'Active', disabled: 'Disabled' } as const
type State = keyof typeof states

export async function leadToAdmin({ urls }: PageContext): Promise<PageResult> {
  return redirect(303, urls.admin('accounts'))
}

/** Returns the filter of the page: words and a state. */
function filterOf(query: URLSearchParams): Filter {
  const state = (Object.keys(states) as State[]).find((one) => one === query.get('state')) ?? 'all'
  return { q: (query.get('q') ?? '').trim().slice(0, limits.email), state }
}

interface Filter {
  readonly q: string
  readonly state: State
}

export const accountsPage = settings({
  frame: adminFrame,
  title: 'Accounts',
  read({ api, query }) {
    const { q, state } = filterOf(query)
    return api.listAccounts({ query: { ...(q && { q }), state, limit: size, offset: pageOffset(query.get('from')) } })
  },
  acts: {},
  view: ({ accounts, total, offset }, { visit: { urls, query }, action }) => {
    const { q, state } = filterOf(query)
    const filter = new URLSearchParams({ ...(q && { q }), ...(state === 'all' ? {} : { state }) })
    return (
      <>
        <p>
          <a class="btn go" href={urls.newAccount()}>
            Add an account
          </a>
        </p>
        <FilterForm action={action} q={q} state={state} />
        <p class="why">
          {plural(total, filter.size > 0 ? 'matching account' : 'account')}
          {filter.size > 0 && (
            <>
              {' '}
              · <a href={action}>Show all</a>
            </>
          )}
        </p>
        <Rows of={accounts}>
          {(account) => (
            <Row
              title={
                <>
                  <strong>
                    <a href={urls.account(account.id)}>{account.name}</a>
                  </strong>{' '}
                  <AccountMarks account={account} />
                </>
              }
              facts={
                <>
                  {account.email} · <LastSeen account={account} />
                </>
              }
            />
          )}
        </Rows>
        <Pages
          base={filter.size > 0 ? `${action}?${filter}` : action}
          {...{ offset, size, total }}
          names={['Previous', 'Next']}
        />
      </>
    )
  },
})

function FilterForm({ action, q, state }: Filter & { readonly action: string }) {
  return (
    <form class="admin-filter" action={action}>
      <input
        type="search"
        name="q"
        value={q}
        maxLength={limits.email}
        placeholder="Name or e-mail"
        aria-label="Name or e-mail"
      />
      <select name="state" aria-label="State">
        {Object.entries(states).map(([value, title]) => (
          <option value={value} selected={value === state}>
            {title}
          </option>
        ))}
      </select>
      <button class="btn" type="submit">
        Filter
      </button>
    </form>
  )
}

export const newAccountPage = settings({
  frame: adminFrame,
  title: 'Add an account',
  why: 'The user sets a password with a link that you send. This also works if sign-up is closed. To add somebody to an organisation, its owners invite them.',
  // Asks as REST would: only administrators see the form.
  read: ({ api }) => api.listAccounts({ query: { limit: 1 } }),
  acts: {
    create: act(
      'Add account',
      {
        email: line('E-mail', { type: 'email' }),
        name: optionalLine('Name', { hint: 'optional; shown as the author of changes', most: limits.displayName }),
        hide_email: check('Hide the e-mail address in Git. It cannot be removed from history later.'),
        is_admin: check('Make this user an administrator of the service.'),
      },
      async ({ api, urls }, body) => {
        const { account, ...token } = await api.createAccount({ body })
        return (
          <>
            <Notice>
              <a href={urls.account(account.id)}>{account.name}</a> has an account, with {account.email}.
            </Notice>
            <ResetLink urls={urls} name={account.name} token={token} />
          </>
        )
      },
    ),
  },
  view: (_, { form }) => form('create'),
})
