/** The ways to sign up and sign in, for clients without a session. */
import type { Deps } from '../../base/deps.ts'
import { listProviders } from './oidc/providers.ts'

/** @param base the URL of the service, without a trailing slash */
export function readAuthConfig(deps: Deps, base: string) {
  const { signup, passwordLogin = true, mail } = deps.config
  const oidc = listProviders(deps).map(({ id, name }) => ({ id, name, url: `${base}/sign-in/oidc/${id}` }))
  return {
    signup,
    password_login: passwordLogin,
    password_reset: mail && passwordLogin ? 'mail' : 'operator',
    oidc,
  } as const
}
