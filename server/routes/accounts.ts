/** Accounts, their sessions and their personal access tokens; what holds tokens is never cached. */
import * as tokens from '../domain/accounts/access-tokens.ts'
import * as accounts from '../domain/accounts/accounts.ts'
import * as sessions from '../domain/accounts/sessions.ts'
import type { HandlersOf } from '../http/operations.ts'
import { reply } from '../http/reply.ts'

const secret = { 'Cache-Control': 'no-store' }

export const accountRoutes: HandlersOf<
  'signup' | 'login' | 'refresh' | 'logout' | 'changePassword' | 'me' | 'createToken' | 'listTokens' | 'revokeToken'
> = {
  signup: async (deps, _actor, { body }) =>
    reply(await accounts.signup(deps, body), { ...secret, Location: '/auth/me' }),
  login: async (deps, _actor, { body }) => reply(await accounts.login(deps, body), secret),
  refresh: async (deps, _actor, { body }) => reply(await sessions.refresh(deps, body.refreshToken), secret),
  logout: (deps, _actor, { body }) => sessions.logout(deps, body.refreshToken),
  changePassword: async (deps, actor, { body }) => reply(await accounts.changePassword(deps, actor, body), secret),
  me: (deps, actor) => accounts.readMe(deps, actor),
  createToken: async (deps, actor, { body }) => {
    const token = await tokens.createAccessToken(deps, actor, body)
    return reply(token, { ...secret, Location: `/auth/tokens/${token.id}` })
  },
  listTokens: (deps, actor, { query }) => tokens.listMyAccessTokens(deps, actor, query),
  revokeToken: (deps, actor, { path }) => tokens.revokeAccessToken(deps, actor, path.token_id),
}
