/** All accounts, for administrators, and the form that creates one. */

import * as limits from '../../base/limits.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { type Page, type PageContext, type PageResult, redirect } from '../page-context.ts'
import { AccountMarks, LastSeen } from '../parts/account-state.tsx'
import { plural } from '../parts/dates.tsx'
import { EmailField, Field, field, showFormErrors, type Trouble, TroubleOf } from '../parts/forms.tsx'
import { AdminTabs } from '../parts/me-tabs.tsx'
import { Pages, pageOffset } from '../parts/paging.tsx'
import { ResetLink } from '../parts/reset-link.tsx'
import type { Urls } from '../urls.ts'

/** Accounts on a page. */
const size = 50

const states = { all: 'All', active: 'Active', disabled: 'Disabled' } as const
type State = keyof typeof states

export async function leadToAdmin({ urls }: PageContext): Promise<PageResult> {
  return redirect(303, urls.admin('accounts'))
}

type Accounts = AnswerOf<'listAccounts'>

interface Filter {
  readonly q: string
  readonly state: State
}

export async function showAccounts({ api, urls, query }: PageContext): Promise<Page> {
  const q = (query.get('q') ?? '').trim().slice(0, limits.email)
  const state = (Object.keys(states) as State[]).find((one) => one === query.get('state')) ?? 'all'
  const offset = pageOffset(query.get('from'))
  const list = await api.listAccounts({ query: { ...(q && { q }), state, limit: size, offset } })
  const isFiltered = q !== '' || state !== 'all'
  const filter = new URLSearchParams({ ...(q && { q }), ...(state === 'all' ? {} : { state }) })
  const base = urls.admin('accounts')
  return {
    ...{ kind: 'page', place: { crumb: 'Administration' }, facts: { list, q, state } },
    head: { title: 'Accounts · Grove', noIndex: true },
    body: () => (
      <main id="main" class="page settings admin">
        <header class="admin-head">
          <h1>Accounts</h1>
          <a class="btn go" href={urls.newAccount()}>
            Add an account
          </a>
        </header>
        <AdminTabs urls={urls} here="accounts" />
        <FilterForm action={base} q={q} state={state} />
        <p class="why">
          {plural(list.total, isFiltered ? 'matching account' : 'account')}
          {isFiltered && (
            <>
              {' '}
              · <a href={base}>Show all</a>
            </>
          )}
        </p>
        {list.accounts.length > 0 && <AccountRows urls={urls} accounts={list.accounts} />}
        <Pages
          base={filter.size > 0 ? `${base}?${filter}` : base}
          {...{ offset, size, total: list.total }}
          names={['Previous', 'Next']}
        />
      </main>
    ),
  }
}

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

function AccountRows({ urls, accounts }: { readonly urls: Urls; readonly accounts: Accounts['accounts'] }) {
  return (
    <ul class="rows">
      {accounts.map((account) => (
        <li>
          <div>
            <strong>
              <a href={urls.account(account.id)}>{account.name}</a>
            </strong>{' '}
            <AccountMarks account={account} />
            <small>
              {account.email} · <LastSeen account={account} />
            </small>
          </div>
        </li>
      ))}
    </ul>
  )
}

type Created = AnswerOf<'createAccount'>

export async function showNewAccount(visit: PageContext): Promise<Page> {
  // Asks as REST would: only administrators see the form.
  await visit.api.listAccounts({ query: { limit: 1 } })
  return newAccountPage(visit)
}

export async function takeNewAccount(visit: PageContext): Promise<PageResult> {
  const { api, form } = visit
  const name = field(form, 'name').trim()
  const body = {
    email: field(form, 'email').trim(),
    ...(name && { name }),
    is_admin: form.has('is_admin'),
    ...(form.has('hide_email') && { hide_email: true }),
  }
  try {
    return newAccountPage(visit, { made: await api.createAccount({ body }) })
  } catch (error) {
    return showFormErrors(error, (trouble) => Promise.resolve(newAccountPage(visit, { trouble })))
  }
}

function newAccountPage(
  { urls, form }: PageContext,
  { trouble, made }: { readonly trouble?: Trouble; readonly made?: Created } = {},
): Page {
  const typed = made === undefined ? form : new URLSearchParams()
  return {
    ...{ kind: 'page', place: { crumb: 'Administration' }, facts: { trouble, made: made?.account.id } },
    head: { title: 'Add an account · Grove', noIndex: true },
    body: () => (
      <main id="main" class="page settings admin">
        <h1>Add an account</h1>
        <AdminTabs urls={urls} here="accounts" />
        {made && <CreatedAccount urls={urls} made={made} />}
        <p class="why">
          The user sets a password with a link that you send. This also works if sign-up is closed. To add somebody to
          an organisation, its owners invite them.
        </p>
        <TroubleOf trouble={trouble} fields={['email', 'name']} />
        <form method="post" action={urls.newAccount()} class="fields">
          <EmailField autocomplete="off" value={field(typed, 'email')} trouble={trouble} />
          <Field label="Name" hint="optional; shown as the author of changes" name="name" trouble={trouble}>
            {(tied) => (
              <input {...tied} autocomplete="off" maxLength={limits.displayName} value={field(typed, 'name')} />
            )}
          </Field>
          <label class="check">
            <input type="checkbox" name="hide_email" checked={typed.has('hide_email')} />
            <span>Hide the e-mail address in Git. It cannot be removed from history later.</span>
          </label>
          <label class="check">
            <input type="checkbox" name="is_admin" checked={typed.has('is_admin')} />
            <span>Make this user an administrator of the service.</span>
          </label>
          <p class="form-acts">
            <button class="btn go" type="submit">
              Add account
            </button>
            <a class="btn" href={urls.admin('accounts')}>
              Cancel
            </a>
          </p>
        </form>
      </main>
    ),
  }
}

/** The account that was just created, with the link for its user. */
function CreatedAccount({ urls, made }: { readonly urls: Urls; readonly made: Created }) {
  return (
    <>
      <p class="notice" role="status">
        <a href={urls.account(made.account.id)}>{made.account.name}</a> has an account, with {made.account.email}.
      </p>
      <ResetLink urls={urls} name={made.account.name} token={made} />
      <h2>Add another account</h2>
    </>
  )
}
