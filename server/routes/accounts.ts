/** Accounts, their sessions and their personal access tokens. Responses with tokens are never cached. */

import { createToken, listTokens, revokeToken } from '../domain/accounts/access-tokens.ts'
import { changePassword, getMe, logIn, signUp } from '../domain/accounts/accounts.ts'
import { deleteMe } from '../domain/accounts/deletion.ts'
import { undoEmailChange } from '../domain/accounts/email-changes.ts'
import { requestVerification, verifyEmail } from '../domain/accounts/email-proofs.ts'
import { listMyIdentities, removeIdentity } from '../domain/accounts/oidc/identities.ts'
import { requestPasswordReset } from '../domain/accounts/password-resets.ts'
import { changeEmail, updateMe } from '../domain/accounts/profile.ts'
import { endOtherSessions, endSession, listSessions } from '../domain/accounts/session-list.ts'
import { logOut, refreshSession } from '../domain/accounts/sessions.ts'
import { getAuthConfig } from '../domain/accounts/ways-in.ts'
import type { Handlers } from '../http/contract/operations.ts'
import { createdAt, withSecret } from '../http/responses/responses.ts'

export const accountRoutes = {
  signUp: withSecret(createdAt('/auth/me', signUp)),
  logIn: withSecret(logIn),
  refreshSession: withSecret(refreshSession),
  logOut,
  changePassword: withSecret(changePassword),
  requestPasswordReset,
  verifyEmail: withSecret(verifyEmail),
  requestVerification,
  getMe,
  updateMe,
  changeEmail,
  undoEmailChange: withSecret(undoEmailChange),
  deleteMe,
  getAuthConfig,
  listIdentities: listMyIdentities,
  removeIdentity,
  createToken: withSecret(createdAt('/auth/tokens/{id}', createToken)),
  listTokens,
  revokeToken,
  listSessions,
  endOtherSessions,
  endSession,
} satisfies Partial<Handlers>
