/** Changes of an address. The new mailbox confirms them, and the former one can undo them. */

import { v7 as newId } from 'uuid'
import {
  emailKey,
  findAccountByEmail,
  findAccountById,
  lockAccount,
  setAccount,
  setEmail,
} from '../../../index/credentials/accounts.ts'
import {
  deleteLaterEmailTokens,
  findEmailToken,
  insertEmailToken,
  isEmailKept,
  useEmailToken,
} from '../../../index/credentials/email-tokens.ts'
import { deleteMailsOf } from '../../../index/credentials/mail.ts'
import type { Account, CredentialsDb, EmailToken, Mail } from '../../../index/credentials/schema.ts'
import { deleteResetTokens } from '../../../index/credentials/sessions.ts'
import { isDuplicate } from '../../../index/sqlite/database.ts'
import { AppError, RateLimitedError } from '../../base/errors.ts'
import { audit } from '../audit/audit.ts'
import type { Letter } from '../mail/letter.ts'
import { mailboxKey, verificationsInAnHour } from '../mail/limits.ts'
import { queueMail } from '../mail/outbox.ts'
import { addressChangedLetter, newAddressLetter, tokenLink } from '../mail/texts.ts'
import { MailError } from '../mail/transport.ts'
import type { RequestCtx, Services } from '../services.ts'
import type { Body } from '../targets.ts'
import { findOwnOrgs, type OwnOrgs, takeOver } from './arrivals.ts'
import { issueEmailToken } from './email-tokens.ts'
import { auditFailure } from './failed-sign-ins.ts'
import { emailTakenError } from './identity.ts'
import { updateMembers } from './member-profiles.ts'
import { endEveryWayIn } from './oidc/identities.ts'
import { findMailedToken, hashOf, mailedToken, type UndoKind, undoKindOf } from './tokens.ts'
import { personOf } from './user-view.ts'

const dayMs = 24 * 3_600_000
/** Milliseconds within which the new mailbox confirms, and within which the former one can undo. */
const [confirmMs, undoMs] = [dayMs, 7 * dayMs]

/**
 * Checks that no other account has the address, or may still get it back.
 *
 * @throws AppError email_taken
 */
export async function requireFreeEmail(deps: Services, email: string, accountId?: string): Promise<void> {
  if (!(await isFreeEmail(deps.credentials.read, email, deps.now(), accountId))) throw emailTakenError()
}

async function isFreeEmail(db: CredentialsDb, email: string, now: Date, accountId?: string): Promise<boolean> {
  const owner = await findAccountByEmail(db, email)
  if (owner !== undefined && owner.id !== accountId) return false
  const except = accountId === undefined ? {} : { accountId }
  return !(await isEmailKept(db, emailKey(email), { now: now.toISOString(), ...except }))
}

/**
 * Gives the account, whose row is locked, the address that its provider now confirms. The former address gets no mail
 * to undo it: the provider may have given it to somebody else. Returns false if the address is not free.
 */
export async function followAddress(trx: CredentialsDb, id: string, email: string, now: Date): Promise<boolean> {
  if (!(await isFreeEmail(trx, email, now, id))) return false
  await takeAddress(trx, id, email, now)
  return true
}

/** Limits the mails to a new address. @throws RateLimitedError */
export async function requireMailAllowed({ limitMail }: Services, email: string): Promise<void> {
  if (await limitMail('verify', mailboxKey(email))) return
  throw new RateLimitedError('mails to this address', verificationsInAnHour, verificationsInAnHour.windowSeconds)
}

/** Writes the mail to a new address, which changes nothing yet. It replaces one that waits. */
export async function queueNewAddress(
  deps: Services,
  trx: CredentialsDb,
  accountId: string,
  address: string,
): Promise<void> {
  await deleteMailsOf(trx, accountId, 'new_address')
  await queueMail(deps, trx, { kind: 'new_address', accountId, address })
}

/** Undefined: the account is gone or disabled. */
export async function writeNewAddress(deps: Services, mail: Mail): Promise<Letter | undefined> {
  const { publicUrl } = deps.config
  const account = mail.account_id === null ? undefined : await findAccountById(deps.credentials.read, mail.account_id)
  if (publicUrl === undefined || account === undefined || account.disabled_at !== null) return undefined
  const token = await issueEmailToken(deps, mail, { id: account.id, kind: 'new_address', lifetimeMs: confirmMs })
  return newAddressLetter(tokenLink(publicUrl, 'verify', token))
}

/**
 * Gives the account the address that the token was mailed to. The former address can undo it. A repetition has the same
 * answer.
 *
 * @returns undefined: the token was used, and the address has changed since
 * @throws AppError email_taken
 */
export async function confirmNewAddress(deps: Services, row: EmailToken): Promise<Account | undefined> {
  const undo = newId()
  const hashes = {
    undo: hashOf(await mailedToken(deps, 'undo', undo)),
    undo_new: hashOf(await mailedToken(deps, 'undo_new', undo)),
  }
  const now = deps.now()
  const write = deps.credentials.write(async (trx) => {
    const account = await lockAccount(trx, row.account_id)
    if (account === undefined || account.disabled_at !== null) return undefined
    if (!(await useEmailToken(trx, row.hash, now.toISOString())))
      return account.email_key === row.email_key ? { account, isNew: false } : undefined
    await takeAddress(trx, account.id, row.email, now)
    const former = { email: account.email, email_key: account.email_key, account_id: account.id }
    const expires_at = new Date(now.getTime() + undoMs).toISOString()
    const kind: UndoKind = account.email_verified_at === null ? 'undo_new' : 'undo'
    const hash = hashes[kind]
    await insertEmailToken(trx, { ...former, hash, kind: 'undo', expires_at, used_at: null })
    const fields = { hash, kind }
    await queueMail(deps, trx, {
      id: undo,
      kind: 'address_changed',
      accountId: account.id,
      address: account.email,
      fields,
    })
    return { account, isNew: true }
  })
  const changed = await write.catch(asTaken)
  if (changed?.isNew) await recordChange(deps, 'account.email_changed', changed.account)
  return changed && { ...changed.account, email: row.email }
}

/** Changes a confirmed address. Earlier reset tokens were sent to the former one. */
async function takeAddress(trx: CredentialsDb, id: string, email: string, now: Date): Promise<void> {
  await setEmail(trx, id, email)
  await setAccount(trx, id, { email_verified_at: now.toISOString() })
  await deleteResetTokens(trx, id)
}

function asTaken(error: unknown): never {
  throw isDuplicate(error) ? emailTakenError() : error
}

/** Records a change after its commit. */
export async function recordChange(
  deps: Services,
  action: 'account.email_changed' | 'account.email_undone',
  account: Account,
): Promise<void> {
  await audit(deps, { action, actor: personOf(account), target: { type: 'account', id: account.id } })
  await updateMembers(deps, account.id)
}

/** Undefined: the change was undone, or can no longer be. @throws MailError its key was deleted */
export async function writeAddressChanged(
  deps: Services,
  { id, fields, created_at }: Mail,
): Promise<Letter | undefined> {
  const { credentials, config, now } = deps
  const { hash = '', kind = 'undo' }: { hash?: string; kind?: UndoKind } = JSON.parse(fields)
  const row = await findEmailToken(credentials.read, hash, now().toISOString())
  if (config.publicUrl === undefined || row === undefined || row.used_at !== null) return undefined
  const token = await findMailedToken(deps, kind, id, hash)
  if (token === undefined)
    throw new MailError('The keys were rotated since the address was changed, so its link is lost', false)
  return addressChangedLetter(tokenLink(config.publicUrl, 'undo-email', token), created_at)
}

export interface Undone {
  readonly message: string
  readonly email: string
}

/**
 * Gives the account its former address back. Somebody else may have changed it, so every way in ends. If nobody had
 * confirmed the address, somebody else may also have opened the account. A mail lets the user set a new password. A wrong
 * token counts as a failed sign-in.
 *
 * @throws AppError invalid_token, email_taken, rate_limited
 */
export function undoEmailChange(
  ctx: RequestCtx,
  { body: { token } }: Body<{ readonly token: string }>,
): Promise<Undone> {
  const { from } = ctx.request
  return ctx.limitSignIn({ from }, async () => {
    const now = ctx.now()
    const row = await findEmailToken(ctx.credentials.read, hashOf(token), now.toISOString())
    const isUndo = row?.kind === 'undo' && row.used_at === null
    const orgs = isUndo && undoKindOf(token) === 'undo_new' ? await findOwnOrgs(ctx, row.account_id) : undefined
    const undone = isUndo ? await ctx.credentials.write((trx) => undo(ctx, trx, row, orgs)).catch(asTaken) : undefined
    if (row === undefined || undone === undefined) {
      await auditFailure(ctx, { from, proof: 'email_token' })
      throw new AppError('invalid_token', 'The token is unknown, expired or used up')
    }
    await recordChange(ctx, 'account.email_undone', undone.account)
    await undone.recordTakeOver?.(personOf(undone.account))
    const message = 'The address is back. Everything that signs in has ended, and a mail lets you set a new password'
    return { message, email: row.email }
  })
}

/** @param orgs those of an account whose address nobody had confirmed */
async function undo(deps: Services, trx: CredentialsDb, row: EmailToken, orgs: OwnOrgs | undefined) {
  const account = await lockAccount(trx, row.account_id)
  const now = deps.now()
  if (account === undefined || account.disabled_at !== null) return undefined
  if (!(await useEmailToken(trx, row.hash, now.toISOString()))) return undefined
  await takeAddress(trx, account.id, row.email, now)
  const recordTakeOver = orgs && (await takeOver(deps, trx, account.id, orgs))
  await endEveryWayIn(trx, account.id, now.toISOString())
  await setAccount(trx, account.id, { has_identity: 0 })
  await deleteLaterEmailTokens(trx, row)
  for (const kind of ['new_address', 'verify']) await deleteMailsOf(trx, account.id, kind)
  const fields = { origin: JSON.stringify(deps.origin ?? null) }
  await queueMail(deps, trx, { kind: 'reset', address: row.email, fields })
  return { account, recordTakeOver }
}
