/** Checks that callers know the password of their account, and locks it in a transaction. */
import { findAccountById, lockAccount } from '../../../index/credentials/accounts.ts'
import type { Account, CredentialsDb } from '../../../index/credentials/schema.ts'
import { AppError, ValidationError } from '../../base/errors.ts'
import { requireSignedIn } from '../access.ts'
import type { Person, RequestFacts } from '../actor.ts'
import type { Ctx, Services } from '../services.ts'
import { requireConfirmed } from './confirmation.ts'
import { auditFailure } from './failed-sign-ins.ts'
import { isPassword } from './passwords.ts'
import { attemptOn } from './sign-ins.ts'

type ProvingCtx = Ctx<Person> & { readonly request: Pick<RequestFacts, 'from'> }

export interface PasswordProof {
  /** Absent for an account without a password. */
  readonly password?: string
}

/**
 * Checks the caller's password. A wrong one counts as a failed sign-in. Without a password, the session must be confirmed.
 *
 * @throws ValidationError the password is missing
 * @throws AppError invalid_credentials, invalid_token (the account is gone), confirmation_required, rate_limited
 */
export async function provePassword(ctx: ProvingCtx, { password }: PasswordProof): Promise<Account> {
  const { from } = ctx.request
  const account = await readAccount(ctx, ctx.actor.id)
  if (account.has_password === 0) {
    await requireConfirmed(ctx)
    return account
  }
  if (password === undefined)
    throw new ValidationError([{ loc: ['body', 'password'], msg: 'Field required', type: 'missing' }])
  return ctx.limitSignIn(await attemptOn(ctx, from, account), async () => {
    if (await isPassword(ctx, 'change', account.password_hash, password)) return account
    await auditFailure(ctx, { account, from, proof: 'password', actor: ctx.actor })
    throw wrongPassword()
  })
}

/**
 * Checks that the proof still holds, in the transaction of the change that it allows. While the password was checked,
 * it may have changed, or the session may have ended.
 *
 * @throws AppError invalid_credentials, invalid_token, account_disabled
 */
export async function requireStillProved(trx: CredentialsDb, actor: Person, proved: ProvedAccount): Promise<void> {
  await lockProvedAccount(trx, proved, wrongPassword)
  await requireSignedIn(trx, actor)
}

function wrongPassword(): AppError {
  return new AppError('invalid_credentials', 'The password is wrong')
}

/** @throws AppError invalid_token if the account is gone */
export async function readAccount(deps: Services, id: string): Promise<Account> {
  const account = await findAccountById(deps.credentials.read, id)
  if (account === undefined) throw new AppError('invalid_token', 'The account is gone')
  return account
}

/** An account, and the hash of the password that its user has proved or set. */
export type ProvedAccount = Pick<Account, 'id' | 'password_hash'>

/**
 * Locks an account that may sign in. Every session, password and reset passes here.
 *
 * @throws AppError account_disabled, also if it has just been deleted; invalid_credentials for a bot
 */
export async function lockActiveAccount(trx: CredentialsDb, id: string): Promise<Account> {
  const account = await lockAccount(trx, id)
  if (account === undefined || account.disabled_at !== null) throw disabled()
  if (account.kind === 'bot') throw new AppError('invalid_credentials', 'A bot cannot sign in; use one of its tokens')
  return account
}

/**
 * Locks an account whose password was proved. Runs in the transaction of the change that it allows. A check takes long,
 * so the password may have changed during it.
 *
 * @throws AppError account_disabled
 * @throws AppError of `refuse` if the password has changed since it was proved
 */
export async function lockProvedAccount(
  trx: CredentialsDb,
  proved: ProvedAccount,
  refuse: () => AppError,
): Promise<void> {
  const { password_hash } = await lockActiveAccount(trx, proved.id)
  if (password_hash !== proved.password_hash) throw refuse()
}

function disabled(): AppError {
  return new AppError('account_disabled', 'The account is disabled; ask the operator')
}
