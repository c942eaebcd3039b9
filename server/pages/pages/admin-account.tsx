/** One account, for administrators: its state, and all that they may do with it. */

import { AppError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { type Page, type PageContext, type PageResult, param } from '../page-context.ts'
import { type Account, AccountMarks } from '../parts/account-state.tsx'
import { plural, When } from '../parts/dates.tsx'
import { Field, field, showFormErrors, submitForm, type Trouble, TroubleOf } from '../parts/forms.tsx'
import { AdminTabs } from '../parts/me-tabs.tsx'
import { ResetLink } from '../parts/reset-link.tsx'

type ResetToken = AnswerOf<'resetAccount'>
type Deletion = AnswerOf<'deleteAccount'>

/** Maximum characters of the fields. */
const most = { reason: 500 } as const

/** Notices after an act, by the value in the query. */
const notices: Readonly<Record<string, string>> = {
  admin: 'This user is an administrator now.',
  dismiss: 'This user is no longer an administrator.',
  disable: 'The account is disabled. Its sessions and tokens are refused from the next request.',
  enable: 'The account is enabled. The user can sign in again.',
  end: 'All sessions, tokens and connections of the account have ended.',
}

export function showAccount(visit: PageContext): Promise<Page> {
  return accountPage(visit)
}

export async function takeAccount(visit: PageContext): Promise<PageResult> {
  const { api, form, urls } = visit
  const path = { account_id: param(visit, 'account') }
  const act = field(form, 'act')
  const again = (trouble: Trouble) => accountPage(visit, { trouble })
  const change = (body: Parameters<typeof api.updateAccount>[0]['body']) =>
    submitForm(again, async () => {
      await api.updateAccount({ path, body })
      return `${urls.account(path.account_id)}?saved=${act}`
    })
  const reason = field(form, 'disabled_reason').trim()
  switch (act) {
    case 'admin':
      return change({ is_admin: true })
    case 'dismiss':
      return change({ is_admin: false })
    case 'disable':
      return change({ disabled: true, ...(reason && { disabled_reason: reason }) })
    case 'enable':
      return change({ disabled: false, end_access: form.has('end_access') })
    case 'end':
      return change({ end_access: true })
    case 'reset':
      try {
        return await accountPage(visit, { token: await api.resetAccount({ path }) })
      } catch (error) {
        return showFormErrors(error, again)
      }
    case 'delete':
      return takeDeletion(visit, again)
    default:
      throw new AppError('bad_request', 'The form does not name a known action')
  }
}

async function takeDeletion(visit: PageContext, again: (trouble: Trouble) => Promise<Page>): Promise<PageResult> {
  const { api, form } = visit
  const path = { account_id: param(visit, 'account') }
  const account = await api.getAccount({ path })
  if (field(form, 'confirm').trim().toLowerCase() !== account.email.toLowerCase()) {
    const says = `Type ${account.email} to confirm. The account was not deleted.`
    return { ...(await again({ field: 'confirm', says })), status: 422 }
  }
  try {
    return deletedPage(visit, account, await api.deleteAccount({ path }))
  } catch (error) {
    return showFormErrors(error, again)
  }
}

interface More {
  readonly trouble?: Trouble
  readonly token?: ResetToken
}

async function accountPage(visit: PageContext, { trouble, token }: More = {}): Promise<Page> {
  const { api, urls, query, person } = visit
  const account = await api.getAccount({ path: { account_id: param(visit, 'account') } })
  const saved = trouble === undefined && token === undefined ? query.get('saved') : null
  const notice = saved === null ? undefined : notices[saved]
  return {
    ...{ kind: 'page', place: { crumb: 'Administration' } },
    facts: { account, trouble, token: token?.expires_at, notice },
    head: { title: `${account.name} · Grove`, noIndex: true },
    body: () => (
      <main id="main" class="page settings admin">
        <h1>{account.name}</h1>
        <AdminTabs urls={urls} here="accounts" />
        {notice !== undefined && (
          <p class="notice" role="status">
            {notice}
          </p>
        )}
        <TroubleOf trouble={trouble} fields={['disabled_reason', 'confirm']} />
        <Facts account={account} />
        {token && <ResetLink urls={urls} name={account.name} token={token} />}
        {account.id === person?.id ? (
          <p class="why">
            This is your own account. Another administrator has to disable or delete it. You can change{' '}
            <a href={urls.me('profile')}>your profile</a> and <a href={urls.me('password')}>your password</a>.
          </p>
        ) : (
          <Acts visit={visit} account={account} trouble={trouble} />
        )}
      </main>
    ),
  }
}

function Facts({ account }: { readonly account: Account }) {
  const { email, created_at, last_seen_at, hide_email, disabled_at, disabled_reason } = account
  return (
    <dl class="admin-facts">
      <dt>E-mail</dt>
      <dd>
        {email}
        {hide_email && ' (hidden in Git)'} <AccountMarks account={account} />
      </dd>
      <dt>Created</dt>
      <dd>
        <When time={created_at} as="day" />
      </dd>
      <dt>Last seen</dt>
      <dd>{last_seen_at === undefined ? 'never' : <When time={last_seen_at} />}</dd>
      {disabled_at !== undefined && (
        <>
          <dt>Disabled</dt>
          <dd>
            <When time={disabled_at} />
            {disabled_reason !== undefined && `: ${disabled_reason}`}
          </dd>
        </>
      )}
      <dt>Id</dt>
      <dd>{account.id}</dd>
    </dl>
  )
}

interface ActsProps {
  readonly visit: PageContext
  readonly account: Account
  readonly trouble: Trouble | undefined
}

function Acts({ visit, account, trouble }: ActsProps) {
  const action = visit.urls.account(account.id)
  return (
    <>
      <section>
        <h2>Password</h2>
        <form method="post" action={action} class="ask">
          <p>
            For a user who has lost the password, or who has not set one yet. Earlier links of this user stop working.
          </p>
          <button class="btn" type="submit" name="act" value="reset">
            Create a link
          </button>
        </form>
      </section>
      <section>
        <h2>Sessions and tokens</h2>
        <form method="post" action={action} class="ask">
          <p>
            If a device was lost or a token has leaked. Ends all sessions, connections of programs, and{' '}
            {plural(account.tokens ?? 0, 'token')}. The password stays.
          </p>
          <button class="btn stop" type="submit" name="act" value="end">
            End all
          </button>
        </form>
      </section>
      <section>
        <h2>Administrator</h2>
        <form method="post" action={action} class="ask">
          <p>Administrators manage accounts. They see no content of organisations in which they have no role.</p>
          <button class="btn" type="submit" name="act" value={account.is_admin ? 'dismiss' : 'admin'}>
            {account.is_admin ? 'Remove as administrator' : 'Make administrator'}
          </button>
        </form>
      </section>
      <DisableSection {...{ visit, account, trouble, action }} />
      <DeleteSection {...{ visit, account, trouble, action }} />
    </>
  )
}

type SectionProps = ActsProps & { readonly action: string }

function DisableSection({ visit: { form }, account, trouble, action }: SectionProps) {
  const isSent = form.get('act') === 'disable'
  if (account.disabled_at !== undefined && !isSent)
    return (
      <section>
        <h2>Enable the account</h2>
        <form method="post" action={action} class="ask">
          <p>The user can sign in again. Sessions stay ended.</p>
          <label class="check">
            <input type="checkbox" name="end_access" />
            <span>
              End the tokens of the account ({account.tokens ?? 0}). Otherwise they work again, also one that has
              leaked.
            </span>
          </label>
          <button class="btn" type="submit" name="act" value="enable">
            Enable
          </button>
        </form>
      </section>
    )
  return (
    <section>
      <h2>Disable the account</h2>
      <p class="why">
        Sessions end, and tokens and Git are refused from the next request. Memberships stay until you enable it again.
      </p>
      <form method="post" action={action} class="fields">
        <Field label="Reason" hint="optional; for administrators" name="disabled_reason" trouble={trouble}>
          {(tied) => (
            <input
              {...tied}
              autocomplete="off"
              maxLength={most.reason}
              value={isSent ? field(form, 'disabled_reason') : ''}
            />
          )}
        </Field>
        <button class="btn stop" type="submit" name="act" value="disable">
          Disable
        </button>
      </form>
    </section>
  )
}

function DeleteSection({ visit: { form }, account, trouble, action }: SectionProps) {
  return (
    <section>
      <h2>Delete the account</h2>
      <p class="why">
        The account is deleted with its sessions and tokens, and leaves every organisation. Organisations without
        another member go to the trash. Contributions stay. Git history keeps the name and e-mail address in commits,
        proposals and earlier versions of member files. This cannot be undone.
      </p>
      <form method="post" action={action} class="fields">
        <Field label={`Type ${account.email} to confirm`} name="confirm" trouble={trouble}>
          {(tied) => (
            <input
              {...tied}
              required
              autocomplete="off"
              autocapitalize="none"
              spellcheck={false}
              maxLength={limits.email}
              value={form.get('act') === 'delete' ? field(form, 'confirm') : ''}
            />
          )}
        </Field>
        <button class="btn stop" type="submit" name="act" value="delete">
          Delete account
        </button>
      </form>
    </section>
  )
}

function deletedPage({ urls }: PageContext, account: Account, { message, left, trashed }: Deletion): Page {
  const names = (orgs: Deletion['left']) => orgs.map(({ name }) => name).join(', ')
  return {
    ...{ kind: 'page', place: { crumb: 'Administration' }, facts: { message, left, trashed } },
    head: { title: 'Account deleted · Grove', noIndex: true },
    body: () => (
      <main id="main" class="page settings admin">
        <h1>Account deleted</h1>
        <AdminTabs urls={urls} here="accounts" />
        <p class="notice" role="status">
          {account.name} ({account.email}): {message}.
        </p>
        {left.length > 0 && <p>Left: {names(left)}</p>}
        {trashed.length > 0 && <p>In the trash, because there was no other member: {names(trashed)}</p>}
        <p class="form-acts">
          <a class="btn" href={urls.admin('accounts')}>
            All accounts
          </a>
        </p>
      </main>
    ),
  }
}
