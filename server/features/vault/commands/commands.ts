/** Adds the commands `import` and `export`. */
import type { Command } from 'commander'
import { examples, type Run } from '../../../cli/commands/command.ts'
import { exportTo } from './export.ts'
import { type ImportOptions, importFolder } from './import.ts'

export function addVaultCommands(program: Command, run: Run): void {
  program
    .command('import')
    .description('Import a folder of Markdown (creates or updates an organisation)')
    .argument('<folder>', 'Folder of Markdown, such as an Obsidian vault')
    .option('--as <email>', 'E-mail address of the account that authors the commits (only for the local data folder)')
    .option('--to <address>', 'URL of a remote Grove to import into, such as https://grove.example.org')
    .option('--token-file <file>', 'File with a personal access token of the remote Grove, with write access')
    .option(
      '--org <id>',
      "Organisation to import into (default: the folder's own, the last one chosen with --org, or a new one)",
    )
    .option('--name <name>', "Name of a new organisation (default: the folder's name)")
    .option('--dry-run', 'Show the changes without making them')
    .option('--prune', 'Delete nodes whose files are gone (restore-node brings each back)')
    .option('--base <path>', 'Prefix of links that begin at the root of the site, such as /en/ (default: detected)')
    .option('--exclude <glob>', 'Skip matching files, as a line of .groveignore does (repeatable)', collect)
    .option('--with-history', 'Give new nodes the commits of their files in the Git work tree (only with --as)')
    .option('--override <reason>', 'Create nodes although rules demand proposals for them (only with --as an owner)')
    .option('--propose', 'Propose the changes, in change sets of up to 50 nodes (only with --as)')
    .option('--watch', 'Keep running, and import half a second after each change in the folder')
    .addHelpText(
      'after',
      examples(
        'grove import ~/notes --as ann@example.org --dry-run',
        'grove import ~/notes --to https://grove.example.org --token-file token.txt',
      ),
    )
    .action(async (folder: string, options: ImportOptions) => {
      run.ends(await importFolder(run.call(), folder, options))
    })

  program
    .command('export')
    .description('Export an organisation as a folder of Markdown, which import can read')
    .argument('<org>', 'Id of the organisation, or its name, if that is unique')
    .argument('<dir>', 'Empty folder, or an earlier export, in which only changes are written')
    .addHelpText(
      'after',
      examples('grove export 01980b00-0000-7000-8000-000000000001 ~/atlas', 'grove export Atlas ~/atlas'),
    )
    .action(async (org: string, dir: string) => {
      run.ends(await exportTo(run.call(), org, dir))
    })
}

/** Collects the values of an option that may be repeated. */
function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value]
}
