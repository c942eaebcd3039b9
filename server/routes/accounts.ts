/** Accounts, their sessions and their personal access tokens. Responses with tokens are never cached. */
import * as tokens from '../domain/accounts/access-tokens.ts'
import * as accounts from '../domain/accounts/accounts.ts'
import * as deletion from '../domain/accounts/deletion.ts'
import { undoEmailChange } from '../domain/accounts/email-changes.ts'
import { askForVerification, verifyEmail } from '../domain/accounts/email-proofs.ts'
import { listMyIdentities, removeIdentity } from '../domain/accounts/oidc/identities.ts'
import { askForReset } from '../domain/accounts/password-resets.ts'
import * as profile from '../domain/accounts/profile.ts'
import * as openSessions from '../domain/accounts/session-list.ts'
import * as sessions from '../domain/accounts/sessions.ts'
import { readAuthConfig } from '../domain/accounts/ways-in.ts'
import { listMyAudit } from '../domain/audit/listing.ts'
import { createFeedToken, endFeedToken } from '../domain/inbox/feed.ts'
import { endMyConnection, listMyConnections } from '../domain/oauth/connections.ts'
import type { HandlersOf } from '../http/contract/operations.ts'
import { Archive, noStore, withHeaders } from '../http/responses/responses.ts'
import { openMyData } from '../vault/write/requests.ts'

export const accountRoutes: HandlersOf<
  | 'signUp'
  | 'logIn'
  | 'refreshSession'
  | 'logOut'
  | 'changePassword'
  | 'requestPasswordReset'
  | 'verifyEmail'
  | 'requestVerification'
  | 'getMe'
  | 'updateMe'
  | 'deleteMe'
  | 'changeEmail'
  | 'undoEmailChange'
  | 'getAuthConfig'
  | 'listIdentities'
  | 'removeIdentity'
  | 'createFeedToken'
  | 'endFeedToken'
  | 'createToken'
  | 'listTokens'
  | 'revokeToken'
  | 'listSessions'
  | 'endOtherSessions'
  | 'endSession'
  | 'listMyConnections'
  | 'endMyConnection'
  | 'listMyAudit'
  | 'exportMyData'
> = {
  signUp: async (deps, _actor, { body, client }) =>
    withHeaders(await accounts.signup(deps, { ...body, ...client }), { ...noStore, Location: '/auth/me' }),
  logIn: async (deps, _actor, { body, client }) =>
    withHeaders(await accounts.login(deps, { ...body, ...client }), noStore),
  refreshSession: async (deps, _actor, { body, client }) =>
    withHeaders(await sessions.refresh(deps, { ...body, ...client }), noStore),
  logOut: (deps, _actor, { body }) => sessions.logout(deps, body),
  changePassword: async (deps, actor, { body, client }) =>
    withHeaders(await accounts.changePassword(deps, actor, { ...body, ...client }), noStore),
  requestPasswordReset: (deps, _actor, { body }) => askForReset(deps, body),
  verifyEmail: async (deps, _actor, { body, client }) =>
    withHeaders(await verifyEmail(deps, { ...body, ...client }), noStore),
  requestVerification: (deps, actor) => askForVerification(deps, actor),
  getMe: (deps, actor) => accounts.readMe(deps, actor),
  updateMe: (deps, actor, { body }) => profile.changeMe(deps, actor, body),
  changeEmail: (deps, actor, { body, client }) => profile.changeEmail(deps, actor, { ...body, ...client }),
  undoEmailChange: async (deps, _actor, { body, client }) =>
    withHeaders(await undoEmailChange(deps, { ...body, ...client }), noStore),
  deleteMe: (deps, actor, { body, client }) => deletion.deleteMe(deps, actor, { ...body, ...client }),
  getAuthConfig: (deps, _actor, { base }) => readAuthConfig(deps, base),
  listIdentities: (deps, actor, { query }) => listMyIdentities(deps, actor, query),
  removeIdentity: (deps, actor, { path, body, client }) => removeIdentity(deps, actor, path, { ...body, ...client }),
  createFeedToken: async (deps, actor, { base }) => withHeaders(await createFeedToken(deps, actor, base), noStore),
  endFeedToken: (deps, actor) => endFeedToken(deps, actor),
  createToken: async (deps, actor, { body }) => {
    const token = await tokens.createAccessToken(deps, actor, body)
    return withHeaders(token, { ...noStore, Location: `/auth/tokens/${token.id}` })
  },
  listTokens: (deps, actor, { query }) => tokens.listMyAccessTokens(deps, actor, query),
  revokeToken: (deps, actor, { path }) => tokens.revokeAccessToken(deps, actor, path),
  listSessions: (deps, actor, { query }) => openSessions.listMySessions(deps, actor, query),
  endOtherSessions: (deps, actor) => openSessions.endOtherSessions(deps, actor),
  endSession: (deps, actor, { path }) => openSessions.endSession(deps, actor, path),
  listMyConnections: (deps, actor, { query }) => listMyConnections(deps, actor, query),
  endMyConnection: (deps, actor, { path }) => endMyConnection(deps, actor, path.grant_id),
  listMyAudit: (deps, actor, { query }) => listMyAudit(deps, actor, query),
  exportMyData: async (deps, actor) => new Archive(openMyData(deps, actor), 'zip'),
}
