/** Accounts and their sessions; what holds tokens is never cached. */
import * as accounts from '../domain/accounts/accounts.ts'
import * as sessions from '../domain/accounts/sessions.ts'
import type { HandlersOf } from '../http/operations.ts'
import { reply } from '../http/reply.ts'

const secret = { 'Cache-Control': 'no-store' }

export const accountRoutes: HandlersOf<'signup' | 'login' | 'refresh' | 'logout' | 'changePassword' | 'me'> = {
  signup: async (deps, _actor, { body }) =>
    reply(await accounts.signup(deps, body), { ...secret, Location: '/auth/me' }),
  login: async (deps, _actor, { body }) => reply(await accounts.login(deps, body), secret),
  refresh: async (deps, _actor, { body }) => reply(await sessions.refresh(deps, body.refreshToken), secret),
  logout: (deps, _actor, { body }) => sessions.logout(deps, body.refreshToken),
  changePassword: async (deps, actor, { body }) => reply(await accounts.changePassword(deps, actor, body), secret),
  me: (deps, actor) => accounts.readMe(deps, actor),
}
