/** Administration of accounts. Administrators see no content of organisations in which they have no role. */

import { countAccessTokens } from '../../../index/credentials/access-tokens.ts'
import {
  type AccountFilter,
  countAccounts,
  findAccountById,
  listAccounts,
  lockAccount,
  setAccount,
} from '../../../index/credentials/accounts.ts'
import { deleteGrants } from '../../../index/credentials/oauth.ts'
import type { Account, CredentialsDb } from '../../../index/credentials/schema.ts'
import { deleteResetTokens, setSessionsRevoked } from '../../../index/credentials/sessions.ts'
import { listUsedBytes } from '../../../index/derived/usage.ts'
import type { AuditAction } from '../../base/audit-actions.ts'
import { AppError } from '../../base/errors.ts'
import { requireSignedIn } from '../access.ts'
import type { Operator, Person } from '../actor.ts'
import { audit } from '../audit/audit.ts'
import { type Page, pageOf } from '../pagination.ts'
import type { PlaceChangesInput } from '../placement.ts'
import type { Ctx, Services } from '../services.ts'
import type { AccountAt, Body, Path, Query } from '../targets.ts'
import { endTokens } from './access-tokens.ts'
import { addAccount } from './accounts.ts'
import { type Deletion, idOf, removeAccount } from './deletion.ts'
import { dropAddressChange } from './email-tokens.ts'
import { requireLine } from './identity.ts'
import { issueResetToken, type ResetToken } from './sessions.ts'

/** An administrator, or the operator. */
export type Administrator = Person | Operator

/** An account, as administrators see it. */
export interface ManagedAccount {
  readonly id: string
  readonly email: string
  readonly name: string
  readonly created_at: string
  readonly is_admin: boolean
  readonly hide_email: boolean
  /** Absent: it is not disabled. */
  readonly disabled_at?: string
  readonly disabled_reason?: string
  /** At most an hour before the last use. Absent until the first use. */
  readonly last_seen_at?: string
  /** The organisation that owns a bot. Absent: it is not a bot. */
  readonly owner_org_id?: string
  /** Personal access tokens that have not expired. Absent in lists. */
  readonly tokens?: number
}

export interface AccountChange {
  readonly is_admin?: boolean
  readonly disabled?: boolean
  /** Only with `disabled: true`. */
  readonly disabled_reason?: string
  /** True: ends all sessions, tokens and connections. The account stays as it is. */
  readonly end_access?: boolean
}

export interface NewManagedAccount {
  readonly email: string
  readonly name?: string
  readonly is_admin?: boolean
  /** Default: as configured. */
  readonly hide_email?: boolean
}

/** A new account, and the one-time token for setting its password. */
export interface CreatedAccount extends ResetToken {
  readonly account: ManagedAccount
}

/** Characters. */
const longestReason = 500

/** Lists accounts, oldest first. @throws AppError forbidden */
export async function listManagedAccounts(ctx: Ctx<Administrator>, { query }: Query<Page & AccountFilter>) {
  requireAdministrator(ctx.actor)
  const { q = '', state, ...page } = query
  const filter = { q, state }
  const { read } = ctx.credentials
  const rows = await listAccounts(read, filter, page)
  return { accounts: rows.map(toManaged), ...pageOf(page, await countAccounts(read, filter)) }
}

/** @throws AppError forbidden, account_not_found */
export async function getAccount(ctx: Ctx<Administrator>, { path }: Path<AccountAt>): Promise<ManagedAccount> {
  requireAdministrator(ctx.actor)
  const account = toManaged(await accountAt(ctx, path))
  const tokens = await countAccessTokens(ctx.credentials.read, account.id, ctx.now().toISOString())
  return { ...account, tokens }
}

/**
 * Creates an account for somebody, also if sign-up is closed.
 *
 * @throws ValidationError email, name
 * @throws AppError forbidden, email_taken, rate_limited, invalid_token
 */
export async function createAccount(
  ctx: Ctx<Administrator>,
  { body: { is_admin: isAdmin = false, hide_email: isHidden, ...identity } }: Body<NewManagedAccount>,
): Promise<CreatedAccount> {
  requireAdministrator(ctx.actor)
  const hidden = isHidden === undefined ? {} : { isHidden }
  const { id, ...token } = await addAccount(ctx, { ...identity, isAdmin, ...hidden, by: ctx.actor }, (trx) =>
    lockWithAdministrator(trx, ctx.actor),
  )
  ctx.log.info({ account: id, by: idOf(ctx.actor), is_admin: isAdmin }, 'an account was created by an administrator')
  return { account: await getAccount(ctx, { path: { account_id: id } }), ...token }
}

/**
 * Disables or enables an account, or changes whether it is an administrator. The sessions and tokens of a disabled
 * account are refused from the next request, in every process. Its memberships stay.
 *
 * @throws ValidationError disabled_reason
 * @throws AppError forbidden, account_not_found, own_account
 */
export async function updateAccount(
  ctx: Ctx<Administrator>,
  { path, body: { is_admin, disabled, disabled_reason, end_access = false } }: Path<AccountAt> & Body<AccountChange>,
): Promise<ManagedAccount> {
  requireAdministrator(ctx.actor)
  const account = await accountAt(ctx, path)
  if (disabled === true || is_admin === false) requireOther(ctx.actor, account)
  if (is_admin === true && account.kind === 'bot') throw new AppError('forbidden', 'A bot cannot be an administrator')
  if (disabled_reason !== undefined) requireLine('disabled_reason', disabled_reason, longestReason)
  const now = ctx.now().toISOString()
  await ctx.credentials.write(async (trx) => {
    await lockWithAdministrator(trx, ctx.actor, account.id)
    if (is_admin !== undefined) await setAccount(trx, account.id, { is_admin: is_admin ? 1 : 0 })
    if (disabled === false) await setAccount(trx, account.id, { disabled_at: null, disabled_reason: null })
    if (end_access) {
      await endTokens(trx, account.id)
      await dropAddressChange(trx, account.id)
    }
    if (disabled !== true && !end_access) return
    const reason = disabled_reason ?? account.disabled_reason
    if (disabled)
      await setAccount(trx, account.id, { disabled_at: account.disabled_at ?? now, disabled_reason: reason })
    await setSessionsRevoked(trx, account.id, now)
    await deleteResetTokens(trx, account.id)
    await deleteGrants(trx, account.id)
  })
  for (const action of actionsOf(account, { is_admin, disabled, end_access }))
    await audit(ctx, { action, actor: ctx.actor, accountId: account.id, target: { type: 'account', id: account.id } })
  ctx.log.info(
    { account: account.id, by: idOf(ctx.actor), is_admin, disabled, end_access },
    'an account was changed by an administrator',
  )
  return getAccount(ctx, { path: path })
}

/** Lists what a change does to an account. */
function actionsOf(
  before: Account,
  { is_admin, disabled, end_access }: { readonly [K in 'is_admin' | 'disabled' | 'end_access']: boolean | undefined },
): AuditAction[] {
  const actions: AuditAction[] = []
  if (is_admin !== undefined && is_admin !== (before.is_admin === 1))
    actions.push(is_admin ? 'account.admin_granted' : 'account.admin_revoked')
  if (disabled !== undefined && disabled !== (before.disabled_at !== null))
    actions.push(disabled ? 'account.disabled' : 'account.enabled')
  if (end_access) actions.push('account.access_ended')
  return actions
}

/** @throws AppError forbidden, account_not_found, own_account, last_owner */
export async function deleteManagedAccount(ctx: Ctx<Administrator>, { path }: Path<AccountAt>): Promise<Deletion> {
  requireAdministrator(ctx.actor)
  const account = await accountAt(ctx, path)
  requireOther(ctx.actor, account)
  return removeAccount({ ...ctx, actor: ctx.actor }, account.id, (trx) =>
    lockWithAdministrator(trx, ctx.actor, account.id),
  )
}

/** Issues a one-time token for setting a new password. @throws AppError forbidden, account_not_found */
export async function resetManagedAccount(ctx: Ctx<Administrator>, { path }: Path<AccountAt>): Promise<ResetToken> {
  requireAdministrator(ctx.actor)
  const { id } = await accountAt(ctx, path)
  ctx.log.info({ account: id, by: idOf(ctx.actor) }, 'a reset token was issued')
  const issued = await issueResetToken(ctx, id)
  await audit(ctx, { action: 'auth.reset_issued', actor: ctx.actor, accountId: id, target: { type: 'account', id } })
  return issued
}

/** Lists organisations of all cells without their content, oldest first. @throws AppError forbidden */
export async function listAllOrgs(ctx: Ctx<Administrator>, { query }: Query<Page>) {
  requireAdministrator(ctx.actor)
  const { rows, owners, total } = await ctx.placement.listOrgsWithOwners(ctx.index.read, query)
  const used = await listUsedBytes(
    ctx.index.read,
    rows.map(({ id }) => id),
  )
  const orgs = rows.map(({ published, members, nodes, ...row }) => ({
    ...row,
    published: published === 1,
    members: members ?? 0,
    ...(nodes === undefined ? {} : { nodes: nodes ?? 0, bytes: used.get(row.id) ?? 0 }),
    owners: owners
      .filter(({ org_id }) => org_id === row.id)
      .map(({ user_id, email, name }) => ({ user_id, email, name })),
  }))
  return { orgs, ...pageOf(query, total) }
}

/** Lists changes of the cell of each organisation. @throws AppError forbidden */
export async function listPlaces(ctx: Ctx<Administrator>, { query }: Query<PlaceChangesInput>) {
  requireAdministrator(ctx.actor)
  return ctx.placement.listChanges(query)
}

/** @throws AppError forbidden */
export function requireAdministrator(actor: Administrator): void {
  if (actor.kind === 'person' && !actor.isAdmin)
    throw new AppError('forbidden', 'Only administrators of the service can do this')
}

/**
 * Checks the administrator again, and locks both accounts. Another administrator may have dismissed, disabled or deleted
 * this one since the request began. If two administrators dismiss each other, the first transaction wins, so that one
 * stays. The order of the locks prevents a deadlock.
 *
 * @throws AppError invalid_token, forbidden
 */
async function lockWithAdministrator(trx: CredentialsDb, actor: Administrator, accountId?: string): Promise<void> {
  if (actor.kind !== 'person') return
  const ids = new Set([actor.id, ...(accountId === undefined ? [] : [accountId])])
  for (const id of [...ids].sort()) await lockAccount(trx, id)
  await requireSignedIn(trx, actor)
  const account = await findAccountById(trx, actor.id)
  requireAdministrator({ ...actor, isAdmin: account?.is_admin === 1 })
}

function requireOther(actor: Administrator, { id }: Pick<Account, 'id'>): void {
  if (actor.kind === 'person' && id === actor.id)
    throw new AppError('own_account', 'You cannot do this to your own account; ask another administrator')
}

async function accountAt(deps: Services, { account_id: accountId }: AccountAt): Promise<Account> {
  const account = await findAccountById(deps.credentials.read, accountId)
  if (account === undefined) throw new AppError('account_not_found', 'Account not found')
  return account
}

function toManaged(row: Account): ManagedAccount {
  const {
    id,
    email,
    name,
    created_at,
    is_admin,
    hide_email,
    disabled_at,
    disabled_reason,
    last_seen_at,
    owner_org_id,
  } = row
  return {
    id,
    email,
    name,
    created_at,
    is_admin: is_admin === 1,
    hide_email: hide_email === 1,
    ...(disabled_at === null ? {} : { disabled_at }),
    ...(disabled_reason === null ? {} : { disabled_reason }),
    ...(last_seen_at === null ? {} : { last_seen_at }),
    ...(owner_org_id === null ? {} : { owner_org_id }),
  }
}
