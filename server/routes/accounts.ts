/** Accounts, their sessions and their personal access tokens; what holds tokens is never cached. */
import * as tokens from '../domain/accounts/access-tokens.ts'
import * as accounts from '../domain/accounts/accounts.ts'
import * as sessions from '../domain/accounts/sessions.ts'
import type { HandlersOf } from '../http/operations.ts'
import { reply } from '../http/responses.ts'

const secret = { 'Cache-Control': 'no-store' }

export const accountRoutes: HandlersOf<
  | 'signUp'
  | 'logIn'
  | 'refreshSession'
  | 'logOut'
  | 'changePassword'
  | 'getMe'
  | 'createToken'
  | 'listTokens'
  | 'revokeToken'
> = {
  signUp: async (deps, _actor, { body, from }) =>
    reply(await accounts.signup(deps, from, body), { ...secret, Location: '/auth/me' }),
  logIn: async (deps, _actor, { body, from }) => reply(await accounts.login(deps, from, body), secret),
  refreshSession: async (deps, _actor, { body, from }) =>
    reply(await sessions.refresh(deps, from, body.refreshToken), secret),
  logOut: (deps, _actor, { body }) => sessions.logout(deps, body.refreshToken),
  changePassword: async (deps, actor, { body, from }) =>
    reply(await accounts.changePassword(deps, actor, from, body), secret),
  getMe: (deps, actor) => accounts.readMe(deps, actor),
  createToken: async (deps, actor, { body }) => {
    const token = await tokens.createAccessToken(deps, actor, body)
    return reply(token, { ...secret, Location: `/auth/tokens/${token.id}` })
  },
  listTokens: (deps, actor, { query }) => tokens.listMyAccessTokens(deps, actor, query),
  revokeToken: (deps, actor, { path }) => tokens.revokeAccessToken(deps, actor, path.token_id),
}
