/** The ways to sign up and sign in, for clients without a session. */
import type { RequestCtx } from '../services.ts'
import { listProviders } from './oidc/providers.ts'

/** @param base the URL of the service, without a trailing slash */
export function getAuthConfig(ctx: RequestCtx) {
  const { signup, passwordLogin = true, mail } = ctx.config
  const oidc = listProviders(ctx).map(({ id, name }) => ({ id, name, url: `${ctx.request.base}/sign-in/oidc/${id}` }))
  return {
    signup,
    password_login: passwordLogin,
    password_reset: mail && passwordLogin ? 'mail' : 'operator',
    oidc,
  } as const
}
