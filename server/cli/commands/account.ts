/** `grove account`: manages accounts. It needs no right except access to the data folder. */
import type { Command } from 'commander'
import { findAccountByEmail, findAccountById } from '../../../index/credentials/accounts.ts'
import type { Account } from '../../../index/credentials/schema.ts'
import { plural } from '../../base/plural.ts'
import { addAccount } from '../../domain/accounts/accounts.ts'
import {
  type AccountChange,
  deleteManagedAccount,
  listManagedAccounts,
  type ManagedAccount,
  resetManagedAccount,
  updateAccount,
} from '../../domain/accounts/administration.ts'
import type { Deletion } from '../../domain/accounts/deletion.ts'
import { personalRecords } from '../../domain/accounts/personal-data.ts'
import type { ResetToken } from '../../domain/accounts/sessions.ts'
import { personOf } from '../../domain/accounts/user-view.ts'
import { operator } from '../../domain/actor.ts'
import { isId } from '../../domain/layout.ts'
import type { Services } from '../../domain/services.ts'
import type { AccountAt } from '../../domain/targets.ts'
import { type Call, examples, printLine, type Run, requireFolder, UsageError, withDeps } from './command.ts'

/** Number of accounts read at a time. */
const atOnce = 200

const emailOrId = 'E-mail address or id of the account'
const accountExamples = examples(
  'grove account add ann@example.org --name Ann --admin',
  'grove account reset bob@example.org',
)

export function addAccountCommands(program: Command, run: Run): void {
  const account = program
    .command('account')
    .description('Manage user accounts, also while the service runs')
    .addHelpText('after', accountExamples)

  account
    .command('list')
    .description('List accounts with their state')
    .option('--disabled', 'List only disabled accounts')
    .action(async (options: { disabled?: boolean }) => {
      run.ends(await listAccounts(run.call(), options))
    })

  account
    .command('add')
    .description('Create an account, and print a one-time token with which the user sets a password')
    .argument('<email>', 'E-mail address of the user')
    .option('--name <name>', 'Author name in commits (default: the part of the e-mail address before the @)')
    .option('--admin', 'Make the user an administrator of the service')
    .option('--hide-email', "Use another address in Git instead of the user's e-mail address")
    .action(async (email: string, options: NewAccountOptions) => {
      run.ends(await addAccountFor(run.call(), email, options))
    })

  addChangeCommands(account, run)
}

/** Adds the commands that change an account. */
function addChangeCommands(account: Command, run: Run): void {
  account
    .command('disable')
    .description('End all sessions and connections of an account, and refuse its tokens and sign-ins; memberships stay')
    .argument('<email>', emailOrId)
    .option('--reason <text>', 'Reason, shown to administrators')
    .action(async (email: string, { reason }: { reason?: string }) => {
      const change = { disabled: true, ...(reason === undefined ? {} : { disabled_reason: reason }) }
      run.ends(await changeAccount(run.call(), email, change))
    })

  account
    .command('enable')
    .description('Let a disabled user sign in again; tokens also work again')
    .argument('<email>', emailOrId)
    .option('--end-tokens', 'End the tokens that the account has')
    .action(async (email: string, { endTokens = false }: { endTokens?: boolean }) => {
      run.ends(await changeAccount(run.call(), email, { disabled: false, end_access: endTokens }))
    })

  account
    .command('end')
    .description('End all sessions, tokens and connections of an account, for example after a leak')
    .argument('<email>', emailOrId)
    .action(async (email: string) => {
      run.ends(await changeAccount(run.call(), email, { end_access: true }))
    })

  account
    .command('export')
    .description('Print all that is stored about a user as JSON lines, without the content of repositories')
    .argument('<email>', emailOrId)
    .action(async (email: string) => {
      run.ends(await exportAccount(run.call(), email))
    })

  account
    .command('delete')
    .description('Delete an account and its memberships; Git history stays')
    .argument('<email>', emailOrId)
    .action(async (email: string) => {
      run.ends(await deleteAccount(run.call(), email))
    })

  account
    .command('reset')
    .description('Print a one-time token with which the user sets a new password')
    .argument('<email>', emailOrId)
    .action(async (email: string) => {
      run.ends(await resetAccount(run.call(), email))
    })

  account
    .command('admin')
    .description('Make a user an administrator, who manages accounts and reads no content')
    .argument('<email>', emailOrId)
    .option('--remove', 'Make the user an ordinary user again')
    .action(async (email: string, { remove = false }: { remove?: boolean }) => {
      run.ends(await changeAccount(run.call(), email, { is_admin: !remove }))
    })
}

function listAccounts(call: Call, { disabled = false }: { readonly disabled?: boolean }): Promise<number> {
  return withAccounts(call, async (deps) => {
    const state = disabled ? 'disabled' : 'all'
    for (let offset = 0; ; offset += atOnce) {
      const { accounts, total } = await listManagedAccounts(
        { ...deps, actor: operator },
        { query: { state, limit: atOnce, offset } },
      )
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

/** Creates an account and prints a token to set its password. @throws AppError email_taken; ValidationError */
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
    const added = await addAccount(deps, { email, isAdmin: admin, ...given, by: operator })
    sayToken(email, added)
  })
}

function changeAccount(call: Call, email: string, change: AccountChange): Promise<number> {
  return withAccounts(call, async (deps) => {
    const account = await updateAccount(
      { ...deps, actor: operator },
      { path: await accountOf(deps, email), body: change },
    )
    printLine(lineOf(account))
    const { tokens = 0 } = account
    if (change.disabled === false && tokens > 0)
      printLine(`Valid again: ${plural(tokens, 'personal access token')}. To end them: grove account end ${email}`)
  })
}

function exportAccount(call: Call, email: string): Promise<number> {
  return withAccounts(call, async (deps) => {
    const account = await accountOf(deps, email)
    for await (const line of personalRecords({ ...deps, actor: operator }, personOf(account)))
      printLine(JSON.stringify(line))
  })
}

function deleteAccount(call: Call, email: string): Promise<number> {
  return withAccounts(call, async (deps) => {
    sayDeletion(await deleteManagedAccount({ ...deps, actor: operator }, { path: await accountOf(deps, email) }))
  })
}

function resetAccount(call: Call, email: string): Promise<number> {
  return withAccounts(call, async (deps) => {
    sayToken(email, await resetManagedAccount({ ...deps, actor: operator }, { path: await accountOf(deps, email) }))
  })
}

async function withAccounts(call: Call, work: (deps: Services) => Promise<void>): Promise<number> {
  await requireFolder(call.config.dataDir)
  await withDeps(call, work)
  return 0
}

/** Finds an account by e-mail address, or by id, as the log names users. @throws UsageError */
async function accountOf(deps: Services, named: string): Promise<Account & AccountAt> {
  const { read } = deps.credentials
  const account = isId(named) ? await findAccountById(read, named) : await findAccountByEmail(read, named)
  if (account === undefined) throw new UsageError(`There is no account ${named}; grove account list shows all`)
  return { ...account, account_id: account.id }
}

function lineOf(account: ManagedAccount): string {
  const { id, email, name, is_admin, disabled_at, disabled_reason, last_seen_at, owner_org_id } = account
  const states = [
    ...(owner_org_id === undefined ? [] : [`a bot of ${owner_org_id}`]),
    ...(is_admin ? ['administrator'] : []),
    ...(disabled_at === undefined
      ? []
      : [`disabled since ${disabled_at}${disabled_reason ? `: ${disabled_reason}` : ''}`]),
    last_seen_at === undefined ? 'never used' : `last used ${last_seen_at}`,
  ]
  return `${email} (${name}, ${id}): ${states.join(', ')}`
}

function sayToken(email: string, { reset_token, expires_at }: ResetToken): void {
  printLine(`${email} can set a password until ${expires_at}, with POST /auth/password and this reset_token:`)
  printLine(reset_token)
}

function sayDeletion({ message, left, trashed }: Deletion): void {
  printLine(`${message}.`)
  for (const { id, name } of left) printLine(`left: ${name} (${id})`)
  for (const { id, name } of trashed) printLine(`moved to the trash, because it had no other member: ${name} (${id})`)
}
