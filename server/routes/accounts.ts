/** Accounts, their sessions and their personal access tokens. Answers that hold tokens are never cached. */
import * as tokens from '../domain/accounts/access-tokens.ts'
import * as accounts from '../domain/accounts/accounts.ts'
import * as sessions from '../domain/accounts/sessions.ts'
import type { HandlersOf } from '../http/operations.ts'
import { withHeaders } from '../http/responses.ts'
import { tokenAt } from './at.ts'

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
    withHeaders(await accounts.signup(deps, { ...body, from }), { ...secret, Location: '/auth/me' }),
  logIn: async (deps, _actor, { body, from }) => withHeaders(await accounts.login(deps, { ...body, from }), secret),
  refreshSession: async (deps, _actor, { body, from }) =>
    withHeaders(await sessions.refresh(deps, { ...body, from }), secret),
  logOut: (deps, _actor, { body }) => sessions.logout(deps, body),
  changePassword: async (deps, actor, { body, from }) =>
    withHeaders(await accounts.changePassword(deps, actor, { ...body, from }), secret),
  getMe: (deps, actor) => accounts.readMe(deps, actor),
  createToken: async (deps, actor, { body }) => {
    const token = await tokens.createAccessToken(deps, actor, body)
    return withHeaders(token, { ...secret, Location: `/auth/tokens/${token.id}` })
  },
  listTokens: (deps, actor, { query }) => tokens.listMyAccessTokens(deps, actor, query),
  revokeToken: (deps, actor, { path }) => tokens.revokeAccessToken(deps, actor, tokenAt(path)),
}
