/** Accounts: signing up and signing in, and the sessions that follow. */

import type { Kysely } from 'kysely'
import { v7 as newId } from 'uuid'
import { compiledOnce } from '../../../index/compiled.ts'
import { deleteAccessTokens } from '../../../index/records/access-tokens.ts'
import { findAccountByEmail, findAccountById, insertAccount, setPasswordHash } from '../../../index/records/accounts.ts'
import type { Account, CredentialsSchema } from '../../../index/records/schema.ts'
import { setSessionsRevoked, useResetToken } from '../../../index/records/sessions.ts'
import type { Deps } from '../../deps.ts'
import { Invalid, Refusal } from '../../errors.ts'
import type { Actor, Person } from '../actor.ts'
import { ensurePersonalOrg } from '../orgs.ts'
import { hashPassword, isPassword } from './passwords.ts'
import { openSession, type Session, sessionAnswer } from './sessions.ts'
import { hashOf } from './tokens.ts'
import { type Profile, personOf, type User, userOf } from './users.ts'

export interface NewAccount {
  readonly email: string
  readonly password: string
  /** Default: the e-mail's part before the @. */
  readonly name?: string
}

/**
 * The account's row comes first, for it alone can be refused; should the organisation then fail, the next login makes it
 * under the id that the row has.
 *
 * @throws Refusal email_taken, rate_limited
 */
export async function signup(deps: Deps, { email, password, name }: NewAccount): Promise<Session> {
  const account = {
    id: newId(),
    email,
    name: name ?? email.slice(0, email.lastIndexOf('@')).slice(0, 200),
    // Before it is known whether the address is taken, so that the time does not tell.
    password_hash: await hashPassword(password),
    created_at: deps.now().toISOString(),
    org_id: newId(),
  }
  const inserted = await deps.credentials.write((trx) => insertAccount(trx, account))
  if (!inserted) throw new Refusal('email_taken', 'There is an account with this e-mail address')
  return signIn(deps, account, `Welcome to Grove, ${account.name}`)
}

/** @throws Refusal invalid_credentials, for an unknown address as for a wrong password; rate_limited */
export async function login(deps: Deps, input: { email: string; password: string }): Promise<Session> {
  const account = await findAccountByEmail(deps.credentials.read, input.email)
  const right = await isPassword(account?.password_hash, input.password)
  if (account === undefined || !right) throw new Refusal('invalid_credentials', 'Wrong e-mail address or password')
  return signIn(deps, account, `Welcome back, ${account.name}`)
}

export interface PasswordChange {
  readonly old_password?: string
  readonly reset_token?: string
  readonly new_password: string
}

/**
 * Ends every session of the person and opens a new one. A reset, which follows a loss, revokes their personal access
 * tokens too.
 *
 * @throws Invalid unless there is exactly one proof; Refusal unauthenticated, invalid_credentials, invalid_token
 */
export async function changePassword(deps: Deps, actor: Actor, input: PasswordChange): Promise<Session> {
  const { old_password, reset_token, new_password } = input
  if ((old_password === undefined) === (reset_token === undefined)) throw eitherProof()
  const prove =
    old_password === undefined ? byResetToken(deps, reset_token ?? '') : byOldPassword(deps, actor, old_password)
  const proof = await prove
  const password_hash = await hashPassword(new_password)
  const now = deps.now().toISOString()
  const accountId = await deps.credentials.write(async (trx) => {
    const id = await proof(trx)
    await setPasswordHash(trx, id, password_hash)
    await setSessionsRevoked(trx, id, now)
    if (reset_token !== undefined) await deleteAccessTokens(trx, id)
    return id
  })
  return signIn(deps, await readAccount(deps, accountId), 'The password is changed; other sessions have ended')
}

function eitherProof(): Invalid {
  return new Invalid([{ loc: ['body'], msg: 'Send either old_password or reset_token', type: 'value_error' }])
}

/** Answers, within the transaction that changes the password, whose it is. */
type Proof = (trx: Kysely<CredentialsSchema>) => Promise<string>

async function byOldPassword(deps: Deps, actor: Actor, password: string): Promise<Proof> {
  if (actor.kind === 'anonymous') throw new Refusal('unauthenticated', 'Sign in to change your password')
  const account = await readAccount(deps, actor.id)
  if (!(await isPassword(account.password_hash, password))) {
    throw new Refusal('invalid_credentials', 'The old password is wrong')
  }
  return async (trx) => {
    // The password may have changed while the old one was checked.
    const now = await findAccountById(trx, account.id)
    if (now?.password_hash !== account.password_hash) {
      throw new Refusal('invalid_credentials', 'The old password is wrong')
    }
    return account.id
  }
}

async function byResetToken(deps: Deps, token: string): Promise<Proof> {
  const hash = hashOf(token)
  return async (trx) => {
    const id = await useResetToken(trx, hash, deps.now().toISOString())
    if (id === undefined) throw new Refusal('invalid_token', 'The reset token is unknown, expired or used up')
    return id
  }
}

/** @throws Refusal invalid_token if the account is gone */
export async function readMe(deps: Deps, person: Person): Promise<User> {
  return userOf(deps, await readAccount(deps, person.id))
}

/** Who an access token speaks for; undefined if the account is gone. */
export async function findPerson(deps: Deps, id: string): Promise<Person | undefined> {
  const [account] = await profileById(deps.credentials.read, id)
  return account && personOf(account)
}

const profileById = compiledOnce(1, (db: Kysely<CredentialsSchema>, id: string) =>
  db.selectFrom('account').select(['id', 'email', 'name', 'created_at', 'org_id']).where('id', '=', id),
)

async function signIn(deps: Deps, account: Profile, message: string): Promise<Session> {
  await ensurePersonalOrg(deps, personOf(account), account.org_id)
  const refreshToken = await openSession(deps, account.id)
  return sessionAnswer(deps, account, refreshToken, message)
}

async function readAccount(deps: Deps, id: string): Promise<Account> {
  const account = await findAccountById(deps.credentials.read, id)
  if (account === undefined) throw new Refusal('invalid_token', 'The account is gone')
  return account
}
