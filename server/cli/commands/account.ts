/** `grove account`: manages accounts. Access to the data folder is the only right that it needs. */
import { findAccountByEmail, findAccountById } from '../../../index/credentials/accounts.ts'
import type { Deps } from '../../base/deps.ts'
import { addAccount } from '../../domain/accounts/accounts.ts'
import {
  type AccountChange,
  changeManagedAccount,
  deleteManagedAccount,
  listManagedAccounts,
  type ManagedAccount,
  resetManagedAccount,
} from '../../domain/accounts/administration.ts'
import type { Deletion } from '../../domain/accounts/deletion.ts'
import type { ResetToken } from '../../domain/accounts/sessions.ts'
import { operator } from '../../domain/actor.ts'
import type { AccountAt } from '../../domain/at.ts'
import { isId } from '../../domain/layout.ts'
import { type Call, requireFolder, say, UsageError, withDeps } from './command.ts'

/** Accounts read at a time. */
const atOnce = 200

export function listAccounts(call: Call, { disabled = false }: { readonly disabled?: boolean }): Promise<number> {
  return withAccounts(call, async (deps) => {
    const state = disabled ? 'disabled' : 'all'
    for (let offset = 0; ; offset += atOnce) {
      const { accounts, total } = await listManagedAccounts(deps, operator, { state, limit: atOnce, offset })
      for (const account of accounts) say(lineOf(account))
      if (offset + atOnce >= total) return
    }
  })
}

export interface NewAccountOptions {
  readonly name?: string
  readonly admin?: boolean
  readonly hideEmail?: boolean
}

/** The person chooses a password with the token that this prints. @throws Refusal email_taken; Invalid */
export function addAccountFor(
  call: Call,
  email: string,
  { name, admin = false, hideEmail }: NewAccountOptions,
): Promise<number> {
  return withAccounts(call, async (deps) => {
    const given = {
      ...(name === undefined ? {} : { name }),
      ...(hideEmail === undefined ? {} : { isHidden: hideEmail }),
    }
    const added = await addAccount(deps, { email, isAdmin: admin, ...given })
    sayToken(email, added)
  })
}

export function changeAccount(call: Call, email: string, change: AccountChange): Promise<number> {
  return withAccounts(call, async (deps) => {
    say(lineOf(await changeManagedAccount(deps, operator, await accountOf(deps, email), change)))
  })
}

export function deleteAccount(call: Call, email: string): Promise<number> {
  return withAccounts(call, async (deps) => {
    sayDeletion(await deleteManagedAccount(deps, operator, await accountOf(deps, email)))
  })
}

export function resetAccount(call: Call, email: string): Promise<number> {
  return withAccounts(call, async (deps) => {
    sayToken(email, await resetManagedAccount(deps, operator, await accountOf(deps, email)))
  })
}

async function withAccounts(call: Call, work: (deps: Deps) => Promise<void>): Promise<number> {
  await requireFolder(call.config.dataDir)
  await withDeps(call, work)
  return 0
}

/** By the e-mail or, as the log names people, the id. @throws UsageError */
async function accountOf(deps: Deps, named: string): Promise<AccountAt> {
  const { read } = deps.credentials
  const account = isId(named) ? await findAccountById(read, named) : await findAccountByEmail(read, named)
  if (account === undefined) throw new UsageError(`There is no account ${named}; grove account list shows all`)
  return { accountId: account.id }
}

function lineOf({ id, email, name, is_admin, disabled_at, disabled_reason, last_seen_at }: ManagedAccount): string {
  const states = [
    ...(is_admin ? ['administrator'] : []),
    ...(disabled_at === undefined
      ? []
      : [`disabled since ${disabled_at}${disabled_reason ? `: ${disabled_reason}` : ''}`]),
    last_seen_at === undefined ? 'never used' : `last used ${last_seen_at}`,
  ]
  return `${email} (${name}, ${id}): ${states.join(', ')}`
}

function sayToken(email: string, { reset_token, expires_at }: ResetToken): void {
  say(`${email} sets a password by POST /auth/password with this reset_token, until ${expires_at}:`)
  say(reset_token)
}

function sayDeletion({ message, left, trashed }: Deletion): void {
  say(`${message}.`)
  for (const { id, name } of left) say(`left: ${name} (${id})`)
  for (const { id, name } of trashed) say(`in the trash, since there was nobody else: ${name} (${id})`)
}
