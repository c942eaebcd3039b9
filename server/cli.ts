#!/usr/bin/env node
/** The command `grove`: reads the command line and calls one function. */
import { Command, CommanderError } from 'commander'
import { GitError } from '../gitstore/errors.ts'
import { DatabaseFault } from '../index/database.ts'
import {
  backUpTo,
  checkHealth,
  importFolder,
  type PurgeOptions,
  purgeTrash,
  rebuildIndex,
  restoreFrom,
  restoreNodeAt,
  UsageError,
} from './commands.ts'
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

program
  .command('doctor')
  .description(
    'looks whether everything is sound: repositories, databases, the index against a rebuild; changes nothing',
  )
  .option('--json', 'the report as one line of JSON')
  .action(async (options: { json?: boolean }) => {
    process.exitCode = await checkHealth(readConfig(), options)
  })

program
  .command('backup')
  .description('copies accounts and repositories to a folder, checked; into the same folder again: only what changed')
  .argument('<dir>')
  .action(async (dir: string) => {
    process.exitCode = await backUpTo(readConfig(), dir)
  })

program
  .command('restore')
  .description('fills an empty data folder from a backup, or from any folder of mirrors that git made')
  .argument('<dir>')
  .action(async (dir: string) => {
    process.exitCode = await restoreFrom(readConfig(), dir)
  })

program
  .command('restore-node')
  .description('brings a deleted node back from the trash')
  .argument('<node>', '<org id>/<node id>')
  .action(async (node: string) => {
    process.exitCode = await restoreNodeAt(readConfig(), node)
  })

program
  .command('purge')
  .description('removes for good what was deleted long ago')
  .option('--older-than <days>', 'days since the deletion', '30')
  .option('--force', 'even if these are fewer than 14')
  .action(async (options: PurgeOptions) => {
    process.exitCode = await purgeTrash(readConfig(), options)
  })

// Who reads only the beginning, as `grove import … | head` does, must not end the work in the middle.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
}

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = exitCodeOf(error)
  if (!(error instanceof CommanderError)) process.stderr.write(`grove: ${explain(error)}\n`)
}

/** 2: the caller can mend it; 1: it failed. */
function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  return error instanceof UsageError || error instanceof ConfigError || error instanceof Refusal ? 2 : 1
}

/** A sentence for what is expected; for anything else where it happened. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const isExpected = exitCodeOf(error) === 2 || error instanceof GitError || error instanceof DatabaseFault
  return isExpected ? error.message : (error.stack ?? error.message)
}
