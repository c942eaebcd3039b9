/** The services through which the signed-in user can sign in. */

import { AppError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import type { Page, PageContext, PageResult } from '../page-context.ts'
import { ConfirmLinks } from '../parts/confirm-links.tsx'
import { When } from '../parts/dates.tsx'
import { field, showFormErrors, submitForm, type Trouble, TroubleOf } from '../parts/forms.tsx'
import { MeTabs } from '../parts/me-tabs.tsx'
import { oidcPath } from '../parts/oidc-path.ts'
import { Password } from './password.tsx'

type Identity = AnswerOf<'listIdentities'>['identities'][number]

/** Notices after an act, by the value in the query. */
const notices: Readonly<Record<string, string>> = {
  linked: 'Linked. You can sign in with it now.',
  removed: 'Removed. Its sessions have ended.',
}

export function showIdentities(visit: PageContext): Promise<Page> {
  return identitiesPage(visit)
}

export async function takeIdentities(visit: PageContext): Promise<PageResult> {
  const { api, form, urls, oidc } = visit
  const again = (trouble: Trouble) => identitiesPage(visit, { trouble })
  const proof = form.has('password') ? { password: field(form, 'password') } : {}
  switch (form.get('act')) {
    case 'link':
      try {
        await oidc.confirm(field(form, 'password'))
        // A form must not lead to another host, so a link does.
        return await identitiesPage(visit, { linking: field(form, 'provider') })
      } catch (error) {
        return showFormErrors(error, again)
      }
    case 'remove':
      return submitForm(again, async () => {
        await api.removeIdentity({ path: { identity_id: field(form, 'identity') }, body: proof })
        return `${urls.me('identities')}?saved=removed`
      })
    default:
      throw new AppError('bad_request', 'The form does not name a known action')
  }
}

interface More {
  readonly trouble?: Trouble
  /** The service to which the user may go now, to link it. */
  readonly linking?: string
}

async function identitiesPage(visit: PageContext, { trouble, linking }: More = {}): Promise<Page> {
  const { api, urls, query, oidc } = visit
  const me = await api.getMe({})
  const { identities } = await api.listIdentities({ query: { limit: limits.identities } })
  const saved = trouble === undefined ? query.get('saved') : null
  const notice = saved === null ? undefined : notices[saved]
  const hasPassword = me.has_password !== false
  const { services } = oidc
  const shown = { visit, hasPassword, trouble }
  return {
    ...{
      kind: 'page',
      place: { crumb: 'Ways to sign in' },
      facts: { me, identities, services, trouble, notice, linking },
    },
    head: { title: 'Ways to sign in · Grove', noIndex: true },
    body: () => (
      <main id="main" class="page settings">
        <h1>Ways to sign in</h1>
        <MeTabs urls={urls} here="identities" hasServices={services.length > 0} />
        {notice !== undefined && (
          <p class="notice" role="status">
            {notice}
          </p>
        )}
        <TroubleOf trouble={trouble} fields={[]} />
        {oidc.hasPasswords && (
          <p class="why">
            {hasPassword ? 'You have a password.' : 'You have no password.'}{' '}
            <a href={urls.me('password')}>{hasPassword ? 'Change it' : 'Set one'}</a>.
          </p>
        )}
        {!hasPassword && <ConfirmLinks visit={visit} next={urls.me('identities')} />}
        {identities.length === 0 ? (
          <p>No other service is linked yet.</p>
        ) : (
          <ul class="rows">
            {identities.map((identity) => (
              <IdentityRow {...shown} identity={identity} />
            ))}
          </ul>
        )}
        <div class="services">
          {services.map((service) => (
            <LinkForm
              {...shown}
              service={service}
              isReady={!hasPassword || linking === service.id}
              isLinked={identities.some(({ provider }) => provider === service.id)}
            />
          ))}
        </div>
      </main>
    ),
  }
}

interface Shown {
  readonly visit: PageContext
  readonly hasPassword: boolean
  readonly trouble: Trouble | undefined
}

function IdentityRow({ visit: { urls }, hasPassword, identity }: Shown & { readonly identity: Identity }) {
  const { id, provider_name: name, email, created_at, confirmed_at } = identity
  return (
    <li>
      <div>
        <strong>{name}</strong> {email !== undefined && <span class="ref">{email}</span>}
        <small>
          linked <When time={created_at} as="day" /> · last signed in there <When time={confirmed_at} />
        </small>
      </div>
      <details>
        <summary class="btn" aria-label={`Remove ${name}…`}>
          Remove…
        </summary>
        <form method="post" action={urls.me('identities')} class="ask">
          <p>You can no longer sign in with it, and the sessions that it has opened end.</p>
          <input type="hidden" name="identity" value={id} />
          {hasPassword && (
            <Password label="Current password" name="password" of={`remove-${id}`} autocomplete="current-password" />
          )}
          <button type="submit" class="btn stop" name="act" value="remove">
            Remove {name}
          </button>
        </form>
      </details>
    </li>
  )
}

interface LinkFormProps extends Shown {
  readonly service: PageContext['oidc']['services'][number]
  /** True if the session may be confirmed already. */
  readonly isReady: boolean
  /** True if an identity of the service is linked already. */
  readonly isLinked: boolean
}

function LinkForm({ visit: { urls }, service: { id, name }, isReady, isLinked }: LinkFormProps) {
  const what = isLinked ? 'another identity' : 'it'
  if (isReady)
    return (
      <a class="btn go" href={oidcPath(urls, id, { purpose: 'link' })}>
        Continue to {name} to link {what}
      </a>
    )
  return (
    <details>
      <summary class="btn">{isLinked ? `Link another identity of ${name}…` : `Link ${name}…`}</summary>
      <form method="post" action={urls.me('identities')} class="fields">
        <input type="hidden" name="provider" value={id} />
        <Password label="Current password" name="password" of={`link-${id}`} autocomplete="current-password" />
        <button type="submit" class="btn go" name="act" value="link">
          Continue
        </button>
      </form>
    </details>
  )
}
