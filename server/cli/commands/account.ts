/** `grove account`: its command line, and how it manages accounts. Access to the data folder is the only right that it needs. */
import type { Command } from 'commander'
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
import { isId } from '../../domain/layout.ts'
import type { AccountAt } from '../../domain/targets.ts'
import { type Call, printLine, type Run, requireFolder, UsageError, withDeps } from './command.ts'

/** Accounts read at a time. */
const atOnce = 200

export function addAccountCommands(program: Command, run: Run): void {
  const account = program.command('account').description('the accounts of people; also beside a running service')

  account
    .command('list')
    .description('every account, with its state')
    .option('--disabled', 'only those that are disabled')
    .action(async (options: { disabled?: boolean }) => {
      run.ends(await listAccounts(run.call(), options))
    })

  account
    .command('add')
    .description('makes an account; prints a one-time token, with which the person sets a password')
    .argument('<email>')
    .option('--name <name>', "the author's name in commits; otherwise the part of the e-mail before the @")
    .option('--admin', 'an administrator of the service')
    .option('--hide-email', 'Git gets another address in place of the e-mail')
    .action(async (email: string, options: NewAccountOptions) => {
      run.ends(await addAccountFor(run.call(), email, options))
    })

  account
    .command('disable')
    .description('ends what the account has open, at once, and lets nobody sign in to it; its memberships stay')
    .argument('<email>')
    .option('--reason <text>', 'for administrators to read')
    .action(async (email: string, { reason }: { reason?: string }) => {
      const change = { disabled: true, ...(reason === undefined ? {} : { disabled_reason: reason }) }
      run.ends(await changeAccount(run.call(), email, change))
    })

  account
    .command('enable')
    .description('lets the person sign in again')
    .argument('<email>')
    .action(async (email: string) => {
      run.ends(await changeAccount(run.call(), email, { disabled: false }))
    })

  account
    .command('delete')
    .description('deletes the account and its memberships; what Git has of the person stays')
    .argument('<email>')
    .action(async (email: string) => {
      run.ends(await deleteAccount(run.call(), email))
    })

  account
    .command('reset')
    .description('prints a one-time token, with which the person sets a new password')
    .argument('<email>')
    .action(async (email: string) => {
      run.ends(await resetAccount(run.call(), email))
    })

  account
    .command('admin')
    .description('makes the account an administrator of the service, who manages accounts and reads no content')
    .argument('<email>')
    .option('--remove', 'makes it an ordinary account again')
    .action(async (email: string, { remove = false }: { remove?: boolean }) => {
      run.ends(await changeAccount(run.call(), email, { is_admin: !remove }))
    })
}

function listAccounts(call: Call, { disabled = false }: { readonly disabled?: boolean }): Promise<number> {
  return withAccounts(call, async (deps) => {
    const state = disabled ? 'disabled' : 'all'
    for (let offset = 0; ; offset += atOnce) {
      const { accounts, total } = await listManagedAccounts(deps, operator, { state, limit: atOnce, offset })
      for (const account of accounts) printLine(lineOf(account))
      if (offset + atOnce >= total) return
    }
  })
}

interface NewAccountOptions {
  readonly name?: string
  readonly admin?: boolean
  readonly hideEmail?: boolean
}

/** The person chooses a password with the token that this prints. @throws AppError email_taken; ValidationError */
function addAccountFor(
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

function changeAccount(call: Call, email: string, change: AccountChange): Promise<number> {
  return withAccounts(call, async (deps) => {
    printLine(lineOf(await changeManagedAccount(deps, operator, await accountOf(deps, email), change)))
  })
}

function deleteAccount(call: Call, email: string): Promise<number> {
  return withAccounts(call, async (deps) => {
    sayDeletion(await deleteManagedAccount(deps, operator, await accountOf(deps, email)))
  })
}

function resetAccount(call: Call, email: string): Promise<number> {
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
  printLine(`${email} sets a password by POST /auth/password with this reset_token, until ${expires_at}:`)
  printLine(reset_token)
}

function sayDeletion({ message, left, trashed }: Deletion): void {
  printLine(`${message}.`)
  for (const { id, name } of left) printLine(`left: ${name} (${id})`)
  for (const { id, name } of trashed) printLine(`in the trash, since there was nobody else: ${name} (${id})`)
}
