#!/usr/bin/env node
/** The command `grove`: reads the command line and calls one function. */
import { Command, CommanderError } from 'commander'
import { importFolder, rebuildIndex, UsageError } from './commands.ts'
import { ConfigError, readConfig } from './config.ts'
import { Refusal } from './errors.ts'

const program = new Command('grove')
  .description('A Git-backed content service. Configured by the environment, as the service itself; see the README.')
  .exitOverride()

program
  .command('serve')
  .description('the service')
  .action(async () => {
    await import('./main.ts')
  })

program
  .command('import')
  .description('a folder of Markdown becomes an organisation, or is brought up to date in one')
  .argument('<folder>')
  .requiredOption('--as <email>', 'the account in whose name it is committed')
  .option('--org <id>', "the organisation; otherwise the account's own of the folder's name, made if there is none")
  .action(async (folder: string, options: { as: string; org?: string }) => {
    process.exitCode = await importFolder(readConfig(), folder, options)
  })

program
  .command('reindex')
  .description('makes the index again from the repositories; credentials are not touched')
  .action(async () => {
    process.exitCode = await rebuildIndex(readConfig())
  })

try {
  await program.parseAsync()
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2
  else if (error instanceof UsageError || error instanceof ConfigError || error instanceof Refusal) {
    process.stderr.write(`grove: ${error.message}\n`)
    process.exitCode = 2
  } else {
    process.stderr.write(`grove: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
    process.exitCode = 1
  }
}
