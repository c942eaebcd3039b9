/** The commands of `grove` with their options: each calls one function. */

import { Command } from 'commander'
import manifest from '../../package.json' with { type: 'json' }
import { readConfig, readRemote } from '../base/config.ts'
import { addAccountCommands } from './commands/account.ts'
import { backup } from './commands/backup.ts'
import { type CellOptions, cells } from './commands/cells.ts'
import type { Run } from './commands/command.ts'
import { checkConfiguration } from './commands/config.ts'
import { moveToPostgres } from './commands/credentials.ts'
import { checkHealth } from './commands/doctor.ts'
import { exportTo } from './commands/export.ts'
import { type ImportOptions, importFolder } from './commands/import.ts'
import { type InviteOptions, invite } from './commands/invite.ts'
import { rotate } from './commands/keys.ts'
import { type McpOptions, serveMcp } from './commands/mcp.ts'
import { addMember } from './commands/member.ts'
import { moveOrgTo } from './commands/move-org.ts'
import { type PurgeOptions, purgeTrash } from './commands/purge.ts'
import { rebuildIndex } from './commands/reindex.ts'
import { restoreFrom } from './commands/restore.ts'
import { restoreNodeAt } from './commands/restore-node.ts'

export function programOf(run: Run): Command {
  const program = new Command('grove')
    .description('A Git-backed content service. Configured by the environment, as the service itself; see the README.')
    .version(manifest.version, '--version')
    .exitOverride()

  program
    .command('serve')
    .description('the service')
    .action(async () => {
      await import('../process/main.ts')
    })

  // In this order `grove --help` lists them.
  addContentCommands(program, run)
  addFolderCommands(program, run)
  addPlaceCommands(program, run)
  addPeopleCommands(program, run)

  program
    .command('config')
    .description('the configuration, as the environment sets it')
    .command('check')
    .description('what each variable is taken to be, and what of them and of the machine will cause trouble')
    .action(async () => {
      run.ends(await checkConfiguration(readConfig()))
    })

  addTrashCommands(program, run)
  return program
}

/** Organisations as folders of Markdown, and for models. */
function addContentCommands(program: Command, run: Run): void {
  program
    .command('import')
    .description('a folder of Markdown becomes an organisation, or is brought up to date in one')
    .argument('<folder>')
    .option('--as <email>', 'the account in whose name it is committed')
    .option('--to <address>', 'a Grove elsewhere, such as https://grove.example.org; without it the data folder here')
    .option('--token-file <file>', 'holds a personal access token of that Grove, of access write')
    .option(
      '--org <id>',
      'the organisation; otherwise the own one of the folder, the one that --org chose last, or a new one',
    )
    .option('--name <name>', "the name of a new organisation; otherwise the folder's")
    .option('--dry-run', 'says what would be changed, and changes nothing')
    .option('--prune', 'removes nodes whose files are gone; restore-node takes each back')
    .option('--base <path>', 'what begins links from the root of the site, such as /en/; otherwise looked for')
    .option('--exclude <glob>', 'leaves out files, as a line of .groveignore does; may be repeated', collect)
    .option('--watch', 'goes on, half a second after each change of the folder, until it is ended')
    .action(async (folder: string, options: ImportOptions) => {
      run.ends(await importFolder(run.call(), folder, options))
    })

  program
    .command('export')
    .description(
      'writes an organisation as a folder of Markdown, which import takes back; again into the same folder: what changed',
    )
    .argument('<org>', 'its id, or its name where no other organisation has it')
    .argument('<dir>')
    .action(async (org: string, dir: string) => {
      run.ends(await exportTo(run.call(), org, dir))
    })

  program
    .command('mcp')
    .description('a Grove elsewhere, for a model: speaks the Model Context Protocol on standard input and output')
    .option('--to <address>', 'such as https://grove.example.org; otherwise GROVE_URL')
    .option('--token-file <file>', 'holds a personal access token; otherwise GROVE_TOKEN is one')
    .action(async (options: McpOptions) => {
      run.ends(await serveMcp(run.signal(), { ...readRemote(), ...options }))
    })
}

/** The data folder as a whole. */
function addFolderCommands(program: Command, run: Run): void {
  program
    .command('reindex')
    .description('makes the index again from the repositories; credentials are not touched')
    .action(async () => {
      run.ends(await rebuildIndex(run.call()))
    })

  program
    .command('doctor')
    .description(
      'looks whether everything is sound: repositories, databases, the index against a rebuild; changes nothing',
    )
    .option('--json', 'the report as one line of JSON')
    .action(async (options: { json?: boolean }) => {
      run.ends(await checkHealth(run.call(), options))
    })

  program
    .command('backup')
    .description('copies accounts and repositories to a folder, checked; into the same folder again: only what changed')
    .argument('<dir>')
    .option('-j, --jobs <n>', 'repositories copied at a time; otherwise 2')
    .option('--full', 'looks at every mirror, also where the service has changed nothing')
    .action(async (dir: string, options: { jobs?: string; full?: boolean }) => {
      run.ends(await backup(run.call(), dir, options))
    })

  program
    .command('restore')
    .description('fills an empty data folder from a backup, or from any folder of mirrors that git made')
    .argument('<dir>')
    .action(async (dir: string) => {
      run.ends(await restoreFrom(run.call(), dir))
    })
}

/** Where accounts and organisations are: in SQLite or PostgreSQL, in which cell. */
function addPlaceCommands(program: Command, run: Run): void {
  program
    .command('credentials-to-postgres')
    .description(
      'moves accounts, sessions and keys from credentials.sqlite to the database of DATABASE_URL, which has none',
    )
    .action(async () => {
      run.ends(await moveToPostgres(run.call()))
    })

  program
    .command('cells')
    .description('the services on the database of DATABASE_URL, or whether one of them takes new organisations')
    .argument('[cell]', 'the name of one of them')
    .option('--open', 'it takes new organisations')
    .option('--close', 'it takes none')
    .option('--weight <n>', 'its share of them beside the others, 0 to 1000')
    .action(async (name: string | undefined, options: CellOptions) => {
      run.ends(await cells(run.call(), name, options))
    })

  program
    .command('move-org')
    .description('moves an organisation of this cell to another one, while both serve')
    .argument('<org>', 'its id')
    .argument('<cell>', 'the name of the other one, as grove cells has it')
    .option('--jobs <n>', 'repositories copied at a time', '2')
    .action(async (org: string, cell: string, options: { jobs?: string }) => {
      run.ends(await moveOrgTo(run.call(), org, cell, options))
    })
}

/** Who signs in, how tokens are signed, and who joins. */
function addPeopleCommands(program: Command, run: Run): void {
  addAccountCommands(program, run)

  program
    .command('keys')
    .description('the keys that sign tokens')
    .command('rotate')
    .description('makes a new key, which signs after ten minutes')
    .option('--now', 'for a key that has leaked: the new one signs at once, and every access token ends')
    .action(async (options: { now?: boolean }) => {
      run.ends(await rotate(run.call(), options))
    })

  program
    .command('invite')
    .description('makes an invitation, and prints its token: to an organisation, or only to sign up')
    .option('--org <id>', 'the organisation that those who use it join')
    .option('--role <role>', 'reader, editor, maintainer or owner')
    .option('--email <email>', 'the only address that may use it')
    .option('--uses <n>', 'how many people may use it, 1 to 1000', '1')
    .option('--days <n>', 'how long it lasts, 1 to 30', '7')
    .action(async (options: InviteOptions) => {
      run.ends(await invite(run.call(), options))
    })

  program
    .command('member')
    .description('members of organisations')
    .command('add')
    .description('adds a person who has an account to an organisation, or changes the role')
    .argument('<org>', 'the id of the organisation')
    .argument('<email>')
    .argument('<role>', 'reader, editor, maintainer or owner')
    .action(async (org: string, email: string, role: string) => {
      run.ends(await addMember(run.call(), org, email, role))
    })
}

/** What was deleted. */
function addTrashCommands(program: Command, run: Run): void {
  program
    .command('restore-node')
    .description('brings a deleted node back from the trash')
    .argument('<node>', '<org id>/<node id>')
    .action(async (node: string) => {
      run.ends(await restoreNodeAt(run.call(), node))
    })

  program
    .command('purge')
    .description('removes for good what was deleted long ago')
    .option('--older-than <days>', 'days since the deletion', '30')
    .option('--force', 'even if these are fewer than 14')
    .action(async (options: PurgeOptions) => {
      run.ends(await purgeTrash(run.call(), options))
    })
}

/** The values of an option that may be repeated. */
function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value]
}
