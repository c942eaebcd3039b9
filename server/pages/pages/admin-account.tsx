/** One account, for administrators: its state, and all that they may do with it. */

import { invalid } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { check, line, optionalLine } from '../kit/controls.tsx'
import { Section } from '../kit/parts.tsx'
import { adminFrame } from '../kit/scene-frames.tsx'
import { act, settings } from '../kit/settings.tsx'
import { type Page, type PageContext, param } from '../page-context.ts'
import { type Account, AccountMarks } from '../parts/account-state.tsx'
import { plural, When } from '../parts/dates.tsx'
import { AdminTabs } from '../parts/me-tabs.tsx'
import { ResetLink } from '../parts/reset-link.tsx'

/** Maximum characters of the reason. */
const mostReason = 500

const pathOf = (visit: PageContext) => ({ account_id: param(visit, 'account') })

type Change = Parameters<PageContext['api']['updateAccount']>[0]['body']
const change = (body: Change) => (visit: PageContext) => visit.api.updateAccount({ path: pathOf(visit), body })

export const accountPage = settings({
  frame: adminFrame,
  says: {
    admin: 'This user is an administrator now.',
    dismiss: 'This user is no longer an administrator.',
    disable: 'The account is disabled. Its sessions and tokens are refused from the next request.',
    enable: 'The account is enabled. The user can sign in again.',
    end: 'All sessions, tokens and connections of the account have ended.',
  },
  read: (visit) => visit.api.getAccount({ path: pathOf(visit) }),
  title: ({ name }) => name,
  acts: {
    reset: act('Create a link', {}, async (visit) => {
      const token = await visit.api.resetAccount({ path: pathOf(visit) })
      const { name } = await visit.api.getAccount({ path: pathOf(visit) })
      return <ResetLink urls={visit.urls} name={name} token={token} />
    }),
    end: act('End all', {}, change({ end_access: true }), 'stop'),
    admin: act('Make administrator', {}, change({ is_admin: true })),
    dismiss: act('Remove as administrator', {}, change({ is_admin: false })),
    disable: act(
      'Disable',
      { disabled_reason: optionalLine('Reason', { hint: 'optional; for administrators', most: mostReason }) },
      (visit, body) => change({ disabled: true, ...body })(visit),
      'stop',
    ),
    enable: act(
      'Enable',
      { end_access: check('End the tokens of the account. Otherwise they work again, also one that has leaked.') },
      (visit, body) => change({ disabled: false, ...body })(visit),
      'plain',
    ),
    delete: act(
      'Delete account',
      { confirm: line('E-mail address, to confirm', { most: limits.email }) },
      async (visit, { confirm }) => {
        const account = await visit.api.getAccount({ path: pathOf(visit) })
        if (confirm.toLowerCase() !== account.email.toLowerCase())
          throw invalid(['body', 'confirm'], `Type ${account.email} to confirm. The account was not deleted`)
        return deletedPage(visit, account, await visit.api.deleteAccount({ path: pathOf(visit) }))
      },
      'stop',
    ),
  },
  view: (account, { form, visit: { urls, person } }) => (
    <>
      <Facts account={account} />
      {account.id === person?.id ? (
        <p class="why">
          This is your own account. Another administrator has to disable or delete it. You can change{' '}
          <a href={urls.me('profile')}>your profile</a> and <a href={urls.me('password')}>your password</a>.
        </p>
      ) : (
        <>
          <Section
            title="Password"
            why="For a user who has lost the password, or who has not set one yet. Earlier links of this user stop working."
          >
            {form('reset')}
          </Section>
          <Section
            title="Sessions and tokens"
            why={`If a device was lost or a token has leaked. Ends all sessions, connections of programs, and ${plural(account.tokens ?? 0, 'token')}. The password stays.`}
          >
            {form('end')}
          </Section>
          <Section
            title="Administrator"
            why="Administrators manage accounts. They see no content of organisations in which they have no role."
          >
            {form(account.is_admin ? 'dismiss' : 'admin')}
          </Section>
          {account.disabled_at === undefined ? (
            <Section
              title="Disable the account"
              why="Sessions end, and tokens and Git are refused from the next request. Memberships stay until you enable it again."
            >
              {form('disable')}
            </Section>
          ) : (
            <Section title="Enable the account" why="The user can sign in again. Sessions stay ended.">
              {form('enable')}
            </Section>
          )}
          <Section
            title="Delete the account"
            why={`The account is deleted with its sessions and tokens, and leaves every organisation. Organisations without another member go to the trash. Contributions stay. Git history keeps the name and e-mail address in commits, proposals and earlier versions of member files. This cannot be undone. Type ${account.email} to confirm.`}
          >
            {form('delete')}
          </Section>
        </>
      )}
    </>
  ),
})

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

type Deletion = AnswerOf<'deleteAccount'>

function deletedPage({ urls }: PageContext, account: Account, { message, left, trashed }: Deletion): Page {
  const names = (orgs: Deletion['left']) => orgs.map(({ name }) => name).join(', ')
  return {
    ...{ kind: 'page', place: { crumb: 'Administration' }, facts: { message, left, trashed } },
    head: { title: 'Account deleted · Grove', noIndex: true },
    body: () => (
      <main id="main" class="page settings">
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
