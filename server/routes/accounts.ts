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
  signUp: async (ctx, { body }) =>
    withHeaders(await accounts.signup(ctx, { ...body, ...ctx.request }), { ...noStore, Location: '/auth/me' }),
  logIn: async (ctx, { body }) => withHeaders(await accounts.login(ctx, { ...body, ...ctx.request }), noStore),
  refreshSession: async (ctx, { body }) =>
    withHeaders(await sessions.refresh(ctx, { ...body, ...ctx.request }), noStore),
  logOut: (ctx, { body }) => sessions.logout(ctx, body),
  changePassword: async (ctx, { body }) =>
    withHeaders(await accounts.changePassword(ctx, { ...body, ...ctx.request }), noStore),
  requestPasswordReset: (ctx, { body }) => askForReset(ctx, body),
  verifyEmail: async (ctx, { body }) => withHeaders(await verifyEmail(ctx, { ...body, ...ctx.request }), noStore),
  requestVerification: (ctx) => askForVerification(ctx),
  getMe: (ctx) => accounts.readMe(ctx),
  updateMe: (ctx, { body }) => profile.changeMe(ctx, body),
  changeEmail: (ctx, { body }) => profile.changeEmail(ctx, { ...body, ...ctx.request }),
  undoEmailChange: async (ctx, { body }) =>
    withHeaders(await undoEmailChange(ctx, { ...body, ...ctx.request }), noStore),
  deleteMe: (ctx, { body }) => deletion.deleteMe(ctx, { ...body, ...ctx.request }),
  getAuthConfig: (ctx) => readAuthConfig(ctx, ctx.request.base),
  listIdentities: (ctx, { query }) => listMyIdentities(ctx, query),
  removeIdentity: (ctx, { path, body }) => removeIdentity(ctx, path, { ...body, ...ctx.request }),
  createFeedToken: async (ctx) => withHeaders(await createFeedToken(ctx, ctx.request.base), noStore),
  endFeedToken: (ctx) => endFeedToken(ctx),
  createToken: async (ctx, { body }) => {
    const token = await tokens.createAccessToken(ctx, body)
    return withHeaders(token, { ...noStore, Location: `/auth/tokens/${token.id}` })
  },
  listTokens: (ctx, { query }) => tokens.listMyAccessTokens(ctx, query),
  revokeToken: (ctx, { path }) => tokens.revokeAccessToken(ctx, path),
  listSessions: (ctx, { query }) => openSessions.listMySessions(ctx, query),
  endOtherSessions: (ctx) => openSessions.endOtherSessions(ctx),
  endSession: (ctx, { path }) => openSessions.endSession(ctx, path),
  listMyConnections: (ctx, { query }) => listMyConnections(ctx, query),
  endMyConnection: (ctx, { path }) => endMyConnection(ctx, path.grant_id),
  listMyAudit: (ctx, { query }) => listMyAudit(ctx, query),
  exportMyData: async (ctx) => new Archive(openMyData(ctx), 'zip'),
}
