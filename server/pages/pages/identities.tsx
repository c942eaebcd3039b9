/** The services through which the signed-in user can sign in. */

import * as limits from '../../base/limits.ts'
import { hidden, proof } from '../kit/controls.tsx'
import { Row, Rows } from '../kit/parts.tsx'
import { meFrame } from '../kit/scene-frames.tsx'
import { act, settings } from '../kit/settings.tsx'
import type { PageContext } from '../page-context.ts'
import { ConfirmLinks } from '../parts/confirm-links.tsx'
import { When } from '../parts/dates.tsx'
import { oidcPath } from '../parts/oidc-path.ts'

export const identitiesPage = settings({
  frame: meFrame('identities'),
  title: 'Ways to sign in',
  says: { linked: 'Linked. You can sign in with it now.', remove: 'Removed. Its sessions have ended.' },
  async read({ api, oidc: { services } }) {
    const { identities } = await api.listIdentities({ query: { limit: limits.identities } })
    return { identities, services, hasPassword: (await api.getMe({})).has_password !== false }
  },
  acts: {
    link: act(
      'Link',
      { provider: hidden, password: proof('Current password') },
      async (visit, { provider, password }) => {
        await visit.oidc.confirm(password ?? '')
        // A form must not lead to another host, so a link does.
        return <LinkTo visit={visit} id={provider} />
      },
    ),
    remove: act(
      'Remove',
      { identity_id: hidden, password: proof('Current password') },
      ({ api }, { identity_id, ...body }) => api.removeIdentity({ path: { identity_id }, body }),
      'stop',
    ),
  },
  view: ({ identities, services, hasPassword }, { ask, visit }) => {
    const { urls, oidc } = visit
    const without = hasPassword ? [] : (['password'] as const)
    return (
      <>
        {oidc.hasPasswords && (
          <p class="why">
            {hasPassword ? 'You have a password.' : 'You have no password.'}{' '}
            <a href={urls.me('password')}>{hasPassword ? 'Change it' : 'Set one'}</a>.
          </p>
        )}
        {!hasPassword && <ConfirmLinks visit={visit} next={urls.me('identities')} />}
        <Rows of={identities} empty="No other service is linked yet.">
          {({ id, provider_name: name, email, created_at, confirmed_at }) => (
            <Row
              title={
                <>
                  <strong>{name}</strong> {email !== undefined && <span class="ref">{email}</span>}
                </>
              }
              facts={
                <>
                  linked <When time={created_at} as="day" /> · last signed in there <When time={confirmed_at} />
                </>
              }
            >
              {ask('remove', 'You can no longer sign in with it, and the sessions that it has opened end.', {
                ...{ values: { identity_id: id }, of: name, without },
              })}
            </Row>
          )}
        </Rows>
        <Rows of={services}>
          {({ id, name }) => (
            <Row
              title={<strong>{name}</strong>}
              facts={identities.some(({ provider }) => provider === id) ? 'another identity of it' : 'not linked yet'}
            >
              {hasPassword ? (
                ask('link', `The next page leads to ${name}.`, { values: { provider: id }, of: name })
              ) : (
                <LinkTo visit={visit} id={id} />
              )}
            </Row>
          )}
        </Rows>
      </>
    )
  },
})

function LinkTo({ visit: { urls, oidc }, id }: { readonly visit: PageContext; readonly id: string }) {
  return (
    <a class="btn go" href={oidcPath(urls, id, { purpose: 'link' })}>
      Continue to {oidc.nameOf(id)} to link it
    </a>
  )
}
