/** The command line of `grove account`. */
import type { Command } from 'commander'
import {
  addAccountFor,
  changeAccount,
  deleteAccount,
  listAccounts,
  type NewAccountOptions,
  resetAccount,
} from './account.ts'
import type { Run } from './command.ts'

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
