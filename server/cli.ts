#!/usr/bin/env node
/** The command `grove`: reads the command line and calls one function. */
import { Command, CommanderError } from 'commander'
import manifest from '../package.json' with { type: 'json' }
import { backUpTo } from './commands/backup.ts'
import { type Call, UsageError } from './commands/command.ts'
import { checkHealth } from './commands/doctor.ts'
import { importFolder } from './commands/import.ts'
import { rotate } from './commands/keys.ts'
import { type PurgeOptions, purgeTrash } from './commands/purge.ts'
import { rebuildIndex } from './commands/reindex.ts'
import { restoreFrom } from './commands/restore.ts'
import { restoreNodeAt } from './commands/restore-node.ts'
import { ConfigError, readConfig } from './config.ts'
import { Refusal } from './errors.ts'
import { explainFault } from './faults.ts'
import { Interrupted, untilInterrupted } from './interruption.ts'

/** The signal of the running command. */
let signal: AbortSignal | undefined

const program = new Command('grove')
  .description('A Git-backed content service. Configured by the environment, as the service itself; see the README.')
  .version(manifest.version, '--version')
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
    process.exitCode = await importFolder(call(), folder, options)
  })

program
  .command('reindex')
  .description('makes the index again from the repositories; credentials are not touched')
  .action(async () => {
    process.exitCode = await rebuildIndex(call())
  })

program
  .command('doctor')
  .description(
    'looks whether everything is sound: repositories, databases, the index against a rebuild; changes nothing',
  )
  .option('--json', 'the report as one line of JSON')
  .action(async (options: { json?: boolean }) => {
    process.exitCode = await checkHealth(call(), options)
  })

program
  .command('backup')
  .description('copies accounts and repositories to a folder, checked; into the same folder again: only what changed')
  .argument('<dir>')
  .action(async (dir: string) => {
    process.exitCode = await backUpTo(call(), dir)
  })

program
  .command('restore')
  .description('fills an empty data folder from a backup, or from any folder of mirrors that git made')
  .argument('<dir>')
  .action(async (dir: string) => {
    process.exitCode = await restoreFrom(call(), dir)
  })

program
  .command('keys')
  .description('the keys that sign tokens')
  .command('rotate')
  .description('makes a new key, which signs after ten minutes')
  .option('--now', 'for a key that has leaked: the new one signs at once, and every access token ends')
  .action(async (options: { now?: boolean }) => {
    process.exitCode = await rotate(call(), options)
  })

program
  .command('restore-node')
  .description('brings a deleted node back from the trash')
  .argument('<node>', '<org id>/<node id>')
  .action(async (node: string) => {
    process.exitCode = await restoreNodeAt(call(), node)
  })

program
  .command('purge')
  .description('removes for good what was deleted long ago')
  .option('--older-than <days>', 'days since the deletion', '30')
  .option('--force', 'even if these are fewer than 14')
  .action(async (options: PurgeOptions) => {
    process.exitCode = await purgeTrash(call(), options)
  })

/** The context of every command except `serve`, which handles signals itself. */
function call(): Call {
  signal = untilInterrupted()
  return { config: readConfig(), signal }
}

// A reader that closes the pipe, as in `grove import … | head`, must not end the command.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
}

try {
  await program.parseAsync()
} catch (thrown) {
  // After a signal, any error is a consequence of the interruption.
  const error: unknown = signal?.aborted ? signal.reason : thrown
  process.exitCode = exitCodeOf(error)
  if (!(error instanceof CommanderError)) process.stderr.write(`grove: ${explain(error)}\n`)
}

/** 2: the caller can correct it; 1: it failed; after a signal, 128 plus its number. */
function exitCodeOf(error: unknown): number {
  if (error instanceof Interrupted) return error.exitCode
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  return error instanceof UsageError || error instanceof ConfigError || error instanceof Refusal ? 2 : 1
}

/** A sentence for expected errors; the stack for others. */
function explain(error: unknown): string {
  const isAnswer = error instanceof Error && (exitCodeOf(error) === 2 || error instanceof Interrupted)
  return isAnswer ? error.message : explainFault(error)
}
