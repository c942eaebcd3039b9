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
import type { Call } from './command.ts'

/** @param call the context of a command that has begun */
export function addAccountCommands(program: Command, call: () => Call): void {
  const account = program.command('account').description('the accounts of people; also beside a running service')

  account
    .command('list')
    .description('every account, with its state')
    .option('--disabled', 'only those that are disabled')
    .action(async (options: { disabled?: boolean }) => {
      process.exitCode = await listAccounts(call(), options)
    })

  account
    .command('add')
    .description('makes an account; prints a one-time token, with which the person sets a password')
    .argument('<email>')
    .option('--name <name>', "the author's name in commits; otherwise the part of the e-mail before the @")
    .option('--admin', 'an administrator of the service')
    .option('--hide-email', 'Git gets another address in place of the e-mail')
    .action(async (email: string, options: NewAccountOptions) => {
      process.exitCode = await addAccountFor(call(), email, options)
    })

  account
    .command('disable')
    .description('ends what the account has open, at once, and lets nobody sign in to it; its memberships stay')
    .argument('<email>')
    .option('--reason <text>', 'for administrators to read')
    .action(async (email: string, { reason }: { reason?: string }) => {
      const change = { disabled: true, ...(reason === undefined ? {} : { disabled_reason: reason }) }
      process.exitCode = await changeAccount(call(), email, change)
    })

  account
    .command('enable')
    .description('lets the person sign in again')
    .argument('<email>')
    .action(async (email: string) => {
      process.exitCode = await changeAccount(call(), email, { disabled: false })
    })

  account
    .command('delete')
    .description('deletes the account and its memberships; what Git has of the person stays')
    .argument('<email>')
    .action(async (email: string) => {
      process.exitCode = await deleteAccount(call(), email)
    })

  account
    .command('reset')
    .description('prints a one-time token, with which the person sets a new password')
    .argument('<email>')
    .action(async (email: string) => {
      process.exitCode = await resetAccount(call(), email)
    })

  account
    .command('admin')
    .description('makes the account an administrator of the service, who manages accounts and reads no content')
    .argument('<email>')
    .option('--remove', 'makes it an ordinary account again')
    .action(async (email: string, { remove = false }: { remove?: boolean }) => {
      process.exitCode = await changeAccount(call(), email, { is_admin: !remove })
    })
}
