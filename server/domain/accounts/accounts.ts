/** Accounts: sign-up, sign-in, password changes. */

import { v7 as newId } from 'uuid'
import { findAccountByEmail, insertAccount, setPasswordHash } from '../../../index/credentials/accounts.ts'
import type { Account, CredentialsDb, Invitation, PendingMembership } from '../../../index/credentials/schema.ts'
import {
  deleteResetTokens,
  findResetAccount,
  setSessionsRevoked,
  useResetToken,
} from '../../../index/credentials/sessions.ts'
import { AppError, ValidationError } from '../../base/errors.ts'
import type { Operator, Person } from '../actor.ts'
import { audit } from '../audit/audit.ts'
import { ensurePersonalOrg } from '../orgs/orgs.ts'
import { type Ctx, isPersons, type RequestCtx, type Services } from '../services.ts'
import type { Body } from '../targets.ts'
import { endTokens } from './access-tokens.ts'
import { findOwnOrgs, type OwnOrgs, takeOver } from './arrivals.ts'
import { requireConfirmed } from './confirmation.ts'
import { requireFreeEmail } from './email-changes.ts'
import { verificationFor } from './email-proofs.ts'
import { dropAddressChange } from './email-tokens.ts'
import { auditFailure } from './failed-sign-ins.ts'
import { anonymousName, defaultName, emailTakenError, requireAuthorName, requireEmail } from './identity.ts'
import { invitationUse, requireSignUpAllowed, signUpRefusedError, takeInvitation } from './invitations.ts'
import { completeMembership, completeMembershipsOf, isFinal, type JoinedOrg } from './memberships.ts'
import {
  lockActiveAccount,
  lockProvedAccount,
  type ProvedAccount,
  readAccount,
  requireStillProved,
} from './password-proof.ts'
import { hashPassword, hashRandomPassword, isPassword, requireUncommon } from './passwords.ts'
import {
  byPassword,
  issueResetToken,
  type Opening,
  openSession,
  type ResetToken,
  type Session,
  type SignInFrom,
  sessionAnswer,
} from './sessions.ts'
import { attemptOn } from './sign-ins.ts'
import { hashOf, isMailedReset } from './tokens.ts'
import { personOf, type User, userOf } from './user-view.ts'

export interface NewAccount {
  readonly email: string
  readonly password: string
  /** Default: the part before the @. If the e-mail address is hidden, a name that does not reveal it. */
  readonly name?: string
  /** Default: as configured. */
  readonly hide_email?: boolean
  /** The secret of an invitation. Required if `SIGNUP` is `invite`. */
  readonly invitation?: string
}

/** The session of a new account. Its personal organisation has just been created, so the id is always present. */
export interface FirstSession extends Session {
  readonly user: User & {
    readonly org_id: string
    /** The organisation that the invitation was for. Absent without one. */
    readonly orgs?: readonly JoinedOrg[]
  }
}

/**
 * Creates an account, its personal organisation and its first session.
 *
 * Inserts the account first, because only that can be refused. If creating the organisation fails, the next login
 * creates it under the id in the account's row. The same transaction takes the invitation and inserts the membership
 * that it gives. If a crash or fault prevents the membership's commit, the next login or the background job makes it.
 *
 * @throws ValidationError email, name, password
 * @throws AppError signup_closed, invitation_not_found, email_taken, rate_limited, outcome_unknown (the account exists
 *   but is not a member yet), storage_readonly (a cell without its lease)
 */
export async function signUp(
  ctx: RequestCtx,
  { body: { email, password, name, hide_email, invitation: token } }: Body<NewAccount>,
): Promise<FirstSession> {
  requirePasswordLogin(ctx)
  requireEmail(email)
  if (name !== undefined) requireAuthorName(name)
  await requireUncommon('password', password)
  const invitation = await requireSignUpAllowed(ctx, email, token)
  await requireFreeEmail(ctx, email)
  const isHidden = hide_email ?? ctx.config.hideEmail ?? false
  const account = newAccount(ctx, { email, name, isHidden }, await hashPassword(ctx, 'signup', password))
  // A cell that cannot create the organisation must not create the account: a repeated sign-up would find its address
  // taken.
  ctx.placement.lease.before()
  const queueVerification = await verificationFor(ctx, account)
  const pending = await ctx.credentials.write(async (trx) => {
    if (!(await insertAccount(trx, account))) throw emailTakenError()
    await queueVerification(trx)
    const { id, created_at } = account
    return invitation && takeInvitation(trx, invitation, id, created_at, () => signUpRefusedError(ctx.config.signup))
  })
  const inserted = await readAccount(ctx, account.id)
  await auditSignUp({ ...ctx, actor: personOf(inserted) }, invitation)
  const joined = pending && (await joinFirst({ ...ctx, actor: personOf(inserted) }, pending))
  const session = await signIn(ctx, inserted, account, ctx.request, `Welcome to Grove, ${account.name}`)
  return { ...session, user: { ...session.user, org_id: account.org_id, ...(joined ? { orgs: [joined] } : {}) } }
}

export async function auditSignUp(ctx: Ctx<Person>, invitation: Invitation | undefined): Promise<void> {
  const created = {
    action: 'account.created',
    actor: ctx.actor,
    target: { type: 'account', id: ctx.actor.id },
  } as const
  await audit(ctx, created, ...(invitation ? [invitationUse(ctx.actor, invitation)] : []))
}

/** Undefined: the invitation's organisation or owner has gone since it was taken. @throws AppError outcome_unknown */
export async function joinFirst(ctx: Ctx<Person>, pending: PendingMembership): Promise<JoinedOrg | undefined> {
  return completeMembership(ctx, pending).catch((cause: unknown) => {
    if (isFinal(cause)) return undefined
    const detail = 'The account was created, but is not a member yet; sign in to try again'
    throw new AppError('outcome_unknown', detail, {}, { cause })
  })
}

export interface AddedAccount {
  readonly email: string
  readonly name?: string
  readonly isAdmin: boolean
  /** Default: as configured. */
  readonly isHidden?: boolean
  readonly by: Person | Operator
}

/**
 * Creates an account with a random password that nobody knows. Its user sets one with the token.
 *
 * @param check runs in the transaction that inserts the account
 * @returns the id of the account, and the token
 *
 * @throws ValidationError email, name
 * @throws AppError email_taken, rate_limited; errors of `check`
 */
export async function addAccount(
  deps: Services,
  added: AddedAccount,
  check?: (trx: CredentialsDb) => Promise<void>,
): Promise<ResetToken & { readonly id: string }> {
  const { email, name, isAdmin, isHidden = deps.config.hideEmail ?? false, by } = added
  const account = newAccount(deps, { email, name, isHidden }, await hashRandomPassword(deps))
  // The operator vouches for the address.
  const email_verified_at = by.kind === 'operator' ? account.created_at : null
  const row = {
    ...account,
    has_password: 0 as const,
    is_admin: isAdmin ? (1 as const) : (0 as const),
    email_verified_at,
  }
  const inserted = await deps.credentials.write(async (trx) => {
    await check?.(trx)
    return insertAccount(trx, row)
  })
  if (!inserted) throw emailTakenError()
  const of = { actor: by, accountId: account.id, target: { type: 'account', id: account.id } } as const
  await audit(deps, { ...of, action: 'account.created' })
  if (isAdmin) await audit(deps, { ...of, action: 'account.admin_granted' })
  return { id: account.id, ...(await issueResetToken(deps, account.id)) }
}

interface Identity {
  readonly email: string
  readonly name: string | undefined
  readonly isHidden: boolean
}

/** @throws ValidationError email, name */
export function newAccount(deps: Services, { email, name, isHidden }: Identity, password_hash: string) {
  requireEmail(email)
  if (name !== undefined) requireAuthorName(name)
  const id = newId()
  return {
    id,
    email,
    name: name ?? (isHidden ? anonymousName(id) : defaultName(email)),
    password_hash,
    created_at: deps.now().toISOString(),
    org_id: newId(),
    hide_email: isHidden ? (1 as const) : (0 as const),
  }
}

/** @throws AppError password_login_off */
function requirePasswordLogin({ config: { passwordLogin = true } }: Services): void {
  if (passwordLogin) return
  throw new AppError('password_login_off', 'Passwords are not used here; sign in at the page /sign-in')
}

/**
 * @throws AppError account_disabled, rate_limited, password_login_off, invalid_credentials (the same for an unknown
 *   e-mail address)
 */
export async function logIn(
  ctx: RequestCtx,
  { body: { email, password } }: Body<{ readonly email: string; readonly password: string }>,
): Promise<Session> {
  const { from } = ctx.request
  requirePasswordLogin(ctx)
  const account = await findAccountByEmail(ctx.credentials.read, email)
  const attempt = await attemptOn(ctx, from, account, email)
  return ctx.limitSignIn(attempt, async () => {
    const purpose = attempt.account?.isKnownFrom === true ? 'return' : 'login'
    const right = await isPassword(ctx, purpose, account?.password_hash, password)
    if (account === undefined || !right) {
      await auditFailure(ctx, { account, email, from, proof: 'password' })
      throw new AppError('invalid_credentials', 'Wrong e-mail address or password')
    }
    return signIn(ctx, account, account, ctx.request, `Welcome back, ${account.name}`)
  })
}

export interface PasswordChange {
  readonly old_password?: string
  readonly reset_token?: string
  readonly new_password: string
}

/**
 * Changes the password and opens a new session. All other sessions and reset tokens end. A reset, which
 * follows a loss, also revokes the personal access tokens. A wrong proof counts as a failed sign-in. An account without
 * a password gets its first one if the session is confirmed.
 *
 * @throws ValidationError new_password; there is not exactly one proof
 * @throws AppError unauthenticated, invalid_credentials, invalid_token, confirmation_required, rate_limited
 */
export async function changePassword(ctx: RequestCtx, { body }: Body<PasswordChange>): Promise<Session> {
  const { old_password, reset_token, new_password } = body
  const { from } = ctx.request
  const isFirst = old_password === undefined && reset_token === undefined && (await hasNoPassword(ctx))
  if (!isFirst && (old_password === undefined) === (reset_token === undefined)) throw eitherProof()
  await requireUncommon('new_password', new_password)
  if (isFirst && isPersons(ctx)) {
    await requireConfirmed(ctx)
    return changeBy(ctx, ctx.request, new_password, byConfirmation(await readAccount(ctx, ctx.actor.id), ctx.actor))
  }
  if (old_password === undefined) {
    return ctx.limitSignIn({ from }, () =>
      changeBy(ctx, ctx.request, new_password, byResetToken(ctx, reset_token ?? '', from)),
    )
  }
  if (ctx.actor.kind === 'anonymous') throw new AppError('unauthenticated', 'Sign in to change your password')
  const account = await readAccount(ctx, ctx.actor.id)
  return ctx.limitSignIn(await attemptOn(ctx, from, account), () =>
    changeBy(ctx, ctx.request, new_password, byOldPassword(ctx, account, old_password, from)),
  )
}

function eitherProof(): ValidationError {
  return new ValidationError([{ loc: ['body'], msg: 'Send either old_password or reset_token', type: 'value_error' }])
}

interface Proof {
  readonly method: 'password' | 'reset'
  /**
   * Runs before the new password is hashed, because hashing is expensive.
   *
   * @returns the organisations of the account, if the proof came by a mail to its address
   * @throws AppError
   */
  check(): Promise<OwnOrgs | undefined>
  /** Returns the account whose password changes. Runs in the transaction that changes it. @throws AppError */
  use(trx: CredentialsDb): Promise<string>
}

async function changeBy(deps: Services, client: SignInFrom, password: string, proof: Proof): Promise<Session> {
  const orgs = await proof.check()
  const password_hash = await hashPassword(deps, 'change', password)
  const now = deps.now().toISOString()
  const { accountId, recordTakeOver } = await deps.credentials.write(async (trx) => {
    const id = await proof.use(trx)
    const { email_verified_at } = await lockActiveAccount(trx, id)
    const isUnconfirmed = email_verified_at === null
    const recordTakeOver = isUnconfirmed && orgs ? await takeOver(deps, trx, id, orgs) : undefined
    await setPasswordHash(trx, id, password_hash)
    await deleteResetTokens(trx, id)
    await setSessionsRevoked(trx, id, now)
    if (proof.method === 'reset') {
      await endTokens(trx, id)
      await dropAddressChange(trx, id)
    }
    return { accountId: id, recordTakeOver }
  })
  const account = await readAccount(deps, accountId)
  const action = proof.method === 'reset' ? 'auth.reset_used' : 'auth.password_changed'
  await audit(deps, { action, actor: personOf(account), target: { type: 'account', id: accountId } })
  await recordTakeOver?.(personOf(account))
  const set = { id: accountId, password_hash }
  return signIn(deps, account, set, client, 'The password was changed; all other sessions have ended', proof.method)
}

function byOldPassword(deps: Services, account: Account, password: string, from: string): Proof {
  const wrong = () => new AppError('invalid_credentials', 'The old password is wrong')
  return {
    method: 'password',
    check: async () => {
      if (await isPassword(deps, 'change', account.password_hash, password)) return undefined
      await auditFailure(deps, { account, from, proof: 'password' })
      throw wrong()
    },
    use: async (trx) => {
      await lockProvedAccount(trx, account, wrong)
      return account.id
    },
  }
}

async function hasNoPassword(ctx: Ctx): Promise<boolean> {
  return ctx.actor.kind === 'person' && (await readAccount(ctx, ctx.actor.id)).has_password === 0
}

/** The first password of an account, set in a confirmed session. */
function byConfirmation(account: Account, actor: Person): Proof {
  return {
    method: 'password',
    check: async () => undefined,
    use: async (trx) => {
      await requireStillProved(trx, actor, account)
      return account.id
    },
  }
}

function byResetToken(deps: Services, token: string, from: string): Proof {
  const hash = hashOf(token)
  const now = () => deps.now().toISOString()
  const bad = () => new AppError('invalid_token', 'The reset token is unknown, expired or used up')
  return {
    method: 'reset',
    check: async () => {
      const id = await findResetAccount(deps.credentials.read, hash, now())
      if (id !== undefined) return isMailedReset(token) ? findOwnOrgs(deps, id) : undefined
      await auditFailure(deps, { from, proof: 'reset_token' })
      throw bad()
    },
    use: async (trx) => {
      const id = await useResetToken(trx, hash, now())
      if (id === undefined) throw bad()
      return id
    },
  }
}

/** @throws AppError invalid_token if the account is gone */
export async function getMe(ctx: Ctx<Person>): Promise<User> {
  return userOf(ctx, await readAccount(ctx, ctx.actor.id))
}

/** @throws errors of `openSession` */
function signIn(
  deps: Services,
  account: Account,
  proved: ProvedAccount,
  client: SignInFrom,
  message: string,
  method: 'password' | 'reset' = 'password',
): Promise<Session> {
  return openAndAnswer(deps, account, client, message, byPassword(proved, method))
}

/** Opens a session, and finishes what earlier sign-ins have left. @throws errors of `openSession` */
export async function openAndAnswer(
  deps: Services,
  account: Account,
  client: SignInFrom,
  message: string,
  opening: Opening,
): Promise<Session> {
  const { method, provider } = opening
  const session = await openSession(deps, account.id, client, opening)
  const person = personOf(account)
  await audit(deps, {
    action: 'auth.sign_in',
    actor: person,
    target: { type: 'session', id: session.id },
    detail: { method, ...(provider !== undefined && { provider }) },
  })
  await ensurePersonalOrg({ ...deps, actor: person }, account.org_id)
  await completeMembershipsOf({ ...deps, actor: person })
  return sessionAnswer(deps, account, session, message)
}
