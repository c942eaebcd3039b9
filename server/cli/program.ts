/** The commands of `grove` with their options. Each calls one function. */

import { Command } from 'commander'
import { readConfig, readRemote } from '../base/config.ts'
import { purpose } from '../base/purpose.ts'
import { commit, version } from '../base/release.ts'
import { addAuditCommands } from '../features/audit/commands/audit.ts'
import { addVaultCommands } from '../features/vault/commands/commands.ts'
import { checkSecrets } from '../features/webhooks/secrets.ts'
import { addAccountCommands } from './commands/account.ts'
import { backup } from './commands/backup.ts'
import { type CellOptions, cells } from './commands/cells.ts'
import { examples, type Run } from './commands/command.ts'
import { checkConfiguration } from './commands/config.ts'
import { addConnectionCommands } from './commands/connections.ts'
import { moveToPostgres } from './commands/credentials.ts'
import { type DemoOptions, serveDemo } from './commands/demo.ts'
import { checkHealth, type DoctorOptions } from './commands/doctor.ts'
import { type EmbedOptions, embed } from './commands/embed.ts'
import { type EraseOptions, erase } from './commands/erase.ts'
import { addEventsCommand } from './commands/events.ts'
import { type InviteOptions, invite } from './commands/invite.ts'
import { rotate } from './commands/keys.ts'
import { addMailCommands } from './commands/mail.ts'
import { addMaintenanceCommands } from './commands/maintenance.ts'
import { type McpOptions, serveMcp } from './commands/mcp.ts'
import { addMember } from './commands/member.ts'
import { moveOrgTo } from './commands/move-org.ts'
import { type PurgeOptions, purgeTrash } from './commands/purge.ts'
import { rebuildIndex } from './commands/reindex.ts'
import { restoreFrom } from './commands/restore.ts'
import { restoreNodeAt } from './commands/restore-node.ts'
import { addTokenCommands } from './commands/token.ts'

export function programOf(run: Run): Command {
  const program = new Command('grove')
    .description(`The self-hosted ${purpose.is}. Configured by environment variables; see \`grove config check\`.`)
    .version(commit === '' ? version : `${version} (${commit})`, '--version', 'Show the version and the commit')
    .helpOption('-h, --help', 'Show help')
    .helpCommand('help [command]', 'Show help for a command')
    .exitOverride()

  program
    .command('serve')
    .description('Run the service')
    .option('--demo', 'Run the demo instead, as `grove demo` does')
    .action(async ({ demo = false }: { readonly demo?: boolean }) => {
      if (demo) return serveDemo({})
      const { serve } = await import('../process/main.ts')
      await serve()
    })

  program
    .command('demo')
    .description('Run a demo on this machine, with fifty pages, three accounts and half a year of history')
    .option('--reset', 'Make the demo again, without your changes')
    .addHelpText('after', examples('grove demo', 'PORT=3001 grove demo --reset'))
    .action(async (options: DemoOptions) => {
      await serveDemo(options)
    })

  // `grove --help` lists the commands in this order.
  addContentCommands(program, run)
  addFolderCommands(program, run)
  addPlaceCommands(program, run)
  addPeopleCommands(program, run)

  program
    .commandsGroup('Configuration:')
    .command('config')
    .description('Inspect the configuration')
    .command('check')
    .description('Show the effective settings and warn about problems')
    .option('--online', 'Also ask the mail server and the providers for sign-in')
    .action(async (options: { readonly online?: boolean }) => {
      run.ends(await checkConfiguration(readConfig(), options))
    })

  addTrashCommands(program, run)
  return program
}

/** Adds the commands for content: import, export, and models. */
function addContentCommands(program: Command, run: Run): void {
  program.commandsGroup('Content:')

  addVaultCommands(program, run)

  program
    .command('mcp')
    .description('Connect a local model to a remote Grove (MCP on standard input and output)')
    .option('--to <address>', 'URL of the Grove, such as https://grove.example.org (default: GROVE_URL)')
    .option('--token-file <file>', 'File with a personal access token (default: the token in GROVE_TOKEN)')
    .action(async (options: McpOptions) => {
      run.ends(await serveMcp(run.signal(), { ...readRemote(), ...options }))
    })
}

/** Adds the commands for the data folder as a whole. */
function addFolderCommands(program: Command, run: Run): void {
  program.commandsGroup('Data folder:')

  program
    .command('reindex')
    .description('Rebuild index.sqlite from the repositories')
    .action(async () => {
      run.ends(await rebuildIndex(run.call()))
    })

  program
    .command('doctor')
    .description('Check repositories, databases and the index, without changing anything')
    .option('--json', 'Print the report as one line of JSON')
    .option(
      '--second-reader [percent]',
      'Also read all refs and objects of this share of the repositories with isomorphic-git, and compare (default: 100)',
    )
    .option('--sample <percent>', 'Check only this share of the repositories, drawn at random')
    .option(
      '--since <time>',
      'Check only repositories that may have changed since; with --sample, also a share of the others',
    )
    .action(async (options: DoctorOptions) => {
      run.ends(await checkHealth(run.call(), options, [checkSecrets]))
    })

  addEmbed(program, run)
  addErase(program, run)
  addAuditCommands(program, run)
  addEventsCommand(program, run)

  addMaintenanceCommands(program, run)

  program
    .command('backup')
    .description('Back up accounts and repositories to a folder')
    .argument('<dir>', 'New folder, or an earlier backup, to which only changes are copied')
    .option('-j, --jobs <n>', 'Repositories to copy at a time (default: 2)')
    .option('--full', 'Check every mirror, even if its repository has not changed')
    .addHelpText('after', examples('grove backup /srv/backup/grove', 'grove backup /srv/backup/grove --full --jobs 4'))
    .action(async (dir: string, options: { jobs?: string; full?: boolean }) => {
      run.ends(await backup(run.call(), dir, options))
    })

  program
    .command('restore')
    .description('Restore a backup into an empty data folder')
    .argument('<dir>', 'Backup, or any folder of mirrors made with Git')
    .addHelpText(
      'after',
      examples('grove restore /srv/backup/grove', 'DATA_DIR=/srv/restored grove restore /srv/backup/grove'),
    )
    .action(async (dir: string) => {
      run.ends(await restoreFrom(run.call(), dir))
    })
}

function addEmbed(program: Command, run: Run): void {
  program
    .command('embed')
    .description('Embed the texts that wait for search by meaning (EMBEDDINGS)')
    .option('--org <id>', 'Only this organisation (default: all that allow it)')
    .option('--dry-run', 'Count the texts and estimate their tokens, and send nothing')
    .option('--json', 'Print the counts as one line of JSON')
    .addHelpText('after', examples('grove embed --dry-run', 'grove embed --org 01980b00-0000-7000-8000-000000000001'))
    .action(async (options: EmbedOptions) => {
      run.ends(await embed(run.call(), options))
    })
}

function addErase(program: Command, run: Run): void {
  program
    .command('erase')
    .description('Erase words, names or reviewed heads from the history of pull requests, for ever')
    .option('--node <id>', 'Id of the node, or ORG_ID/NODE_ID')
    .option('--org <id>', 'All nodes of the organisation (only with --person)')
    .option('--entry <number/entry>', 'Text of a comment or a review, by pull request and entry')
    .option('--pull <number>', 'Title, description, and all comments and reviews of a pull request')
    .option('--person <id>', 'Name and e-mail addresses of a user')
    .option('--head <commit>', 'A reviewed head that no branch has any more')
    .addHelpText(
      'after',
      examples(
        'grove erase --node 01980b00-0000-7000-8000-000000000007 --entry 12/3',
        'grove erase --org 01980b00-0000-7000-8000-000000000001 --person 01980b00-0000-7000-8000-000000000002',
      ),
    )
    .action(async (options: EraseOptions) => {
      run.ends(await erase(run.call(), options))
    })
}

/** Adds the commands that place accounts in PostgreSQL and organisations in cells. */
function addPlaceCommands(program: Command, run: Run): void {
  program.commandsGroup('PostgreSQL and cells:')

  program
    .command('credentials-to-postgres')
    .description(
      'Move accounts, sessions and keys from credentials.sqlite to an empty PostgreSQL database (DATABASE_URL)',
    )
    .action(async () => {
      run.ends(await moveToPostgres(run.call()))
    })

  program
    .command('cells')
    .description('List the cells that share the database of DATABASE_URL, or change one')
    .argument('[cell]', 'Name of the cell to show or change')
    .option('--open', 'Let the cell take new organisations')
    .option('--close', 'Stop the cell from taking new organisations')
    .option('--weight <n>', 'Share of new organisations, relative to other cells, 0 to 1000')
    .action(async (name: string | undefined, options: CellOptions) => {
      run.ends(await cells(run.call(), name, options))
    })

  program
    .command('move-org')
    .description('Move an organisation from this cell to another while both serve')
    .argument('<org>', 'Id of the organisation')
    .argument('<cell>', 'Name of the target cell, from grove cells')
    .option('--jobs <n>', 'Repositories to copy at a time', '2')
    .action(async (org: string, cell: string, options: { jobs?: string }) => {
      run.ends(await moveOrgTo(run.call(), org, cell, options))
    })
}

/** Adds the commands for accounts, signing keys, invitations and members. */
function addPeopleCommands(program: Command, run: Run): void {
  program.commandsGroup('Users:')
  addAccountCommands(program, run)
  addMailCommands(program, run)
  addConnectionCommands(program, run)
  addTokenCommands(program, run)

  program
    .command('keys')
    .description('Manage the keys that sign tokens')
    .command('rotate')
    .description('Create a new key, which signs after ten minutes')
    .option('--now', 'For a leaked key: sign with the new key at once, and end every access token')
    .action(async (options: { now?: boolean }) => {
      run.ends(await rotate(run.call(), options))
    })

  program
    .command('invite')
    .description('Create an invitation to join an organisation or only to sign up, and print its token')
    .option('--org <id>', 'Organisation that invited users join')
    .option('--role <role>', 'Role of the users: reader, contributor, editor, maintainer or owner')
    .option('--email <email>', 'Restrict the invitation to this e-mail address')
    .option('--uses <n>', 'Number of users who may use it, 1 to 1000', '1')
    .option('--days <n>', 'Days until it expires, 1 to 30', '7')
    .addHelpText(
      'after',
      examples(
        'grove invite --email ann@example.org',
        'grove invite --org 01980b00-0000-7000-8000-000000000001 --role editor --uses 10',
      ),
    )
    .action(async (options: InviteOptions) => {
      run.ends(await invite(run.call(), options))
    })

  program
    .command('member')
    .description('Manage the members of organisations')
    .command('add')
    .description('Add a user to an organisation, or change their role')
    .argument('<org>', 'Id of the organisation')
    .argument('<email>', "E-mail address of the user's account")
    .argument('<role>', 'Role of the user: reader, contributor, editor, maintainer or owner')
    .action(async (org: string, email: string, role: string) => {
      run.ends(await addMember(run.call(), org, email, role))
    })
}

/** Adds the commands for deleted nodes and organisations. */
function addTrashCommands(program: Command, run: Run): void {
  program.commandsGroup('Trash:')

  program
    .command('restore-node')
    .description('Restore a deleted node from the trash')
    .argument('<node>', 'Ids of the organisation and the node, as ORG_ID/NODE_ID')
    .action(async (node: string) => {
      run.ends(await restoreNodeAt(run.call(), node))
    })

  program
    .command('purge')
    .description('Permanently delete items from the trash')
    .option('--older-than <days>', 'Minimum number of days since the deletion (default: TRASH_DAYS, or 30)')
    .option('--force', 'Allow fewer than 14 days')
    .action(async (options: PurgeOptions) => {
      run.ends(await purgeTrash(run.call(), options))
    })
}
