/** Accounts: sign-up, sign-in, password changes. */

import { v7 as newId } from 'uuid'
import { deleteAccessTokens } from '../../../index/credentials/access-tokens.ts'
import {
  findAccountByEmail,
  findAccountById,
  findProfile,
  insertAccount,
  type Profile,
  setPasswordHash,
} from '../../../index/credentials/accounts.ts'
import type { Account, CredentialsDb } from '../../../index/credentials/schema.ts'
import { isResetToken, setSessionsRevoked, useResetToken } from '../../../index/credentials/sessions.ts'
import type { Deps } from '../../deps.ts'
import { Invalid, Refusal } from '../../errors.ts'
import type { Actor, Person } from '../actor.ts'
import { ensurePersonalOrg } from '../orgs/orgs.ts'
import { defaultName, requireAuthorName, requireEmail } from './identity.ts'
import { hashPassword, isPassword } from './passwords.ts'
import { openSession, type Session, sessionAnswer } from './sessions.ts'
import { attemptOn } from './sign-ins.ts'
import { hashOf } from './tokens.ts'
import { personOf, type User, userOf } from './users.ts'

/** What each sign-in use case also needs. */
interface AskedFrom {
  /** The caller's address, or network. */
  readonly from: string
}

export interface NewAccount extends AskedFrom {
  readonly email: string
  readonly password: string
  /** Default: the e-mail's part before the @. */
  readonly name?: string
}

/** The personal organisation has just been created, so its id is always present. */
export interface FirstSession extends Session {
  readonly user: User & { readonly org_id: string }
}

/**
 * Inserts the account first, since only that can be refused. If creating the organisation fails, the next login creates
 * it under the id in the account's row.
 *
 * @throws Invalid email, name; Refusal email_taken, rate_limited
 */
export async function signup(deps: Deps, { email, password, name, from }: NewAccount): Promise<FirstSession> {
  requireEmail(email)
  if (name !== undefined) requireAuthorName(name)
  if (await findAccountByEmail(deps.credentials.read, email)) throw emailTaken()
  const account = {
    id: newId(),
    email,
    name: name ?? defaultName(email),
    password_hash: await hashPassword(deps, 'signup', password),
    created_at: deps.now().toISOString(),
    org_id: newId(),
  }
  const inserted = await deps.credentials.write((trx) => insertAccount(trx, account))
  if (!inserted) throw emailTaken()
  const session = await signIn(deps, account, from, `Welcome to Grove, ${account.name}`)
  return { ...session, user: { ...session.user, org_id: account.org_id } }
}

function emailTaken(): Refusal {
  return new Refusal('email_taken', 'There is an account with this e-mail address')
}

/** @throws Refusal invalid_credentials, the same for an unknown address and a wrong password; rate_limited */
export async function login(
  deps: Deps,
  { email, password, from }: { email: string; password: string } & AskedFrom,
): Promise<Session> {
  const account = await findAccountByEmail(deps.credentials.read, email)
  const attempt = await attemptOn(deps, from, account, email)
  return deps.limitSignIn(attempt, async () => {
    const purpose = attempt.account?.isKnownFrom === true ? 'return' : 'login'
    const right = await isPassword(purpose, account?.password_hash, password)
    if (account === undefined || !right) throw new Refusal('invalid_credentials', 'Wrong e-mail address or password')
    return signIn(deps, account, from, `Welcome back, ${account.name}`)
  })
}

export interface PasswordChange extends AskedFrom {
  readonly old_password?: string
  readonly reset_token?: string
  readonly new_password: string
}

/**
 * Ends every session of the person and opens a new one. A reset, which follows a loss, also revokes their personal access
 * tokens. A wrong proof counts as a failed sign-in.
 *
 * @throws Invalid unless there is exactly one proof; Refusal unauthenticated, invalid_credentials, invalid_token, rate_limited
 */
export async function changePassword(deps: Deps, actor: Actor, input: PasswordChange): Promise<Session> {
  const { old_password, reset_token, new_password, from } = input
  if ((old_password === undefined) === (reset_token === undefined)) throw eitherProof()
  if (old_password === undefined) {
    return deps.limitSignIn({ from }, () => changeBy(deps, from, new_password, byResetToken(deps, reset_token ?? '')))
  }
  if (actor.kind === 'anonymous') throw new Refusal('unauthenticated', 'Sign in to change your password')
  const account = await readAccount(deps, actor.id)
  return deps.limitSignIn(await attemptOn(deps, from, account), () =>
    changeBy(deps, from, new_password, byOldPassword(account, old_password)),
  )
}

function eitherProof(): Invalid {
  return new Invalid([{ loc: ['body'], msg: 'Send either old_password or reset_token', type: 'value_error' }])
}

interface Proof {
  readonly revokesTokens: boolean
  /** Runs before the new password is hashed, since hashing is expensive. @throws Refusal */
  check(): Promise<void>
  /** The account whose password changes; runs in the transaction that changes it. @throws Refusal */
  use(trx: CredentialsDb): Promise<string>
}

async function changeBy(deps: Deps, from: string, password: string, proof: Proof): Promise<Session> {
  await proof.check()
  const password_hash = await hashPassword(deps, 'change', password)
  const now = deps.now().toISOString()
  const accountId = await deps.credentials.write(async (trx) => {
    const id = await proof.use(trx)
    await setPasswordHash(trx, id, password_hash)
    await setSessionsRevoked(trx, id, now)
    if (proof.revokesTokens) await deleteAccessTokens(trx, id)
    return id
  })
  return signIn(deps, await readAccount(deps, accountId), from, 'The password is changed; other sessions have ended')
}

function byOldPassword(account: Account, password: string): Proof {
  const wrong = () => new Refusal('invalid_credentials', 'The old password is wrong')
  return {
    revokesTokens: false,
    check: async () => {
      if (!(await isPassword('change', account.password_hash, password))) throw wrong()
    },
    use: async (trx) => {
      // The password may have changed while the old one was checked.
      const now = await findAccountById(trx, account.id)
      if (now?.password_hash !== account.password_hash) throw wrong()
      return account.id
    },
  }
}

function byResetToken(deps: Deps, token: string): Proof {
  const hash = hashOf(token)
  const now = () => deps.now().toISOString()
  const bad = () => new Refusal('invalid_token', 'The reset token is unknown, expired or used up')
  return {
    revokesTokens: true,
    check: async () => {
      if (!(await isResetToken(deps.credentials.read, hash, now()))) throw bad()
    },
    use: async (trx) => {
      const id = await useResetToken(trx, hash, now())
      if (id === undefined) throw bad()
      return id
    },
  }
}

/** @throws Refusal invalid_token if the account is gone */
export async function readMe(deps: Deps, actor: Person): Promise<User> {
  return userOf(deps, await readAccount(deps, actor.id))
}

/** The person of an account; undefined if the account is gone. */
export async function findPerson(deps: Deps, id: string): Promise<Person | undefined> {
  const account = await findProfile(deps.credentials.read, id)
  return account && personOf(account)
}

async function signIn(deps: Deps, account: Profile, from: string, message: string): Promise<Session> {
  await ensurePersonalOrg(deps, personOf(account), account.org_id)
  const refreshToken = await openSession(deps, account.id, from)
  return sessionAnswer(deps, account, refreshToken, message)
}

async function readAccount(deps: Deps, id: string): Promise<Account> {
  const account = await findAccountById(deps.credentials.read, id)
  if (account === undefined) throw new Refusal('invalid_token', 'The account is gone')
  return account
}
