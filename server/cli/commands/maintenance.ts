/** `grove maintenance`: stops changes of content, for a copy or a move of the data folder. */
import type { Command } from 'commander'
import { isOneLine } from '../../domain/format/text-rules.ts'
import { endMaintenance, type MaintenanceMode, maxMessage, readMaintenanceMode } from '../../domain/maintenance-mode.ts'
import { beginQuiet } from '../../domain/operator/maintenance.ts'
import { type Call, examples, printLine, type Run, requireFolder, UsageError, withDeps } from './command.ts'

interface MaintenanceOptions {
  readonly message?: string
  /** ISO 8601, in the future. */
  readonly until?: string
}

export function addMaintenanceCommands(program: Command, run: Run): void {
  const maintenance = program
    .command('maintenance')
    .description('Stop changes of content, to copy or move the data folder')

  maintenance
    .command('on')
    .description('Refuse changes, and wait until those that run have ended')
    .option('--message <text>', 'Message for users, one line')
    .option('--until <time>', 'Announced end, such as 2030-01-31T06:00Z; only `off` ends the mode')
    .addHelpText('after', examples('grove maintenance on --message "Back at six" --until 2030-01-31T06:00Z'))
    .action(async (options: MaintenanceOptions) => {
      run.ends(await beginMaintenanceMode(run.call(), options))
    })

  maintenance
    .command('off')
    .description('Allow changes again')
    .action(async () => {
      run.ends(await endMaintenanceMode(run.call()))
    })

  maintenance
    .command('status')
    .description('Print whether the mode is on')
    .action(async () => {
      run.ends(await printMaintenanceMode(run.call()))
    })
}

/** Switches maintenance mode on. Returns 1 if a change still runs after a minute. */
async function beginMaintenanceMode(call: Call, { message, until }: MaintenanceOptions): Promise<number> {
  if (message !== undefined && (!isOneLine(message) || [...message].length > maxMessage))
    throw new UsageError(`--message must be one line of at most ${maxMessage} characters`)
  const end = until === undefined ? undefined : new Date(until)
  if (end !== undefined && !(end.getTime() > Date.now()))
    throw new UsageError(`--until must be a time in the future, such as 2030-01-31T06:00Z: ${until}`)
  await requireFolder(call.config.dataDir)
  return withDeps(call, async (deps) => {
    const running = await beginQuiet(deps, {
      since: deps.now().toISOString(),
      ...(message !== undefined && { message }),
      ...(end !== undefined && { until: end.toISOString() }),
    })
    for (const { process, locks } of running)
      printLine(`process ${process} still changes ${locks.length === 0 ? 'repositories' : locks.join(', ')}`)
    if (running.length > 0) {
      printLine('Maintenance mode is on, but the data folder is not quiet. Run the command again')
      return 1
    }
    printLine('Maintenance mode is on, and the data folder is quiet')
    return 0
  })
}

/** Switches maintenance mode off. It needs neither the service nor the databases. */
async function endMaintenanceMode({ config }: Call): Promise<number> {
  await requireFolder(config.dataDir)
  printLine((await endMaintenance(config.dataDir)) ? 'Maintenance mode is off' : 'Maintenance mode was already off')
  return 0
}

/** Prints whether maintenance mode is on. */
async function printMaintenanceMode({ config }: Call): Promise<number> {
  await requireFolder(config.dataDir)
  const mode = readMaintenanceMode(config.dataDir)
  for (const line of linesOf(mode)) printLine(line)
  return 0
}

function linesOf(mode: MaintenanceMode | undefined): string[] {
  if (mode === undefined) return ['off']
  const { since, message, until } = mode
  return [
    since === undefined ? 'on: maintenance.json cannot be read' : `on since ${since}`,
    ...(until === undefined ? [] : [`until ${until}, as announced`]),
    ...(message === undefined ? [] : [`message: ${message}`]),
  ]
}
