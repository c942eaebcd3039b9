/** `grove connections`: the programs that users have connected by OAuth. */
import type { Command } from 'commander'
import { listConnectedClients } from '../../../index/credentials/oauth.ts'
import { plural } from '../../base/plural.ts'
import { endConnectionsOf } from '../../domain/operator/connections.ts'
import { type Call, examples, printLine, type Run, requireFolder, UsageError, withDeps } from './command.ts'

export function addConnectionCommands(program: Command, run: Run): void {
  const connections = program
    .command('connections')
    .description('List the programs that users have connected by OAuth, or end their connections')
    .addHelpText('after', examples('grove connections list', 'grove connections end dcr.eyJuIjoi…'))

  connections
    .command('list')
    .description('List the programs, with the number of their connections')
    .action(async () => run.ends(await listPrograms(run.call())))

  connections
    .command('end')
    .description('End all connections of a program, also while the service runs')
    .argument('<client>', 'Id of the program, from `grove connections list`')
    .action(async (client: string) => run.ends(await endProgram(run.call(), client)))
}

async function listPrograms(call: Call): Promise<number> {
  await requireFolder(call.config.dataDir)
  return withDeps(call, async ({ credentials }) => {
    for (const { client_id, client_name, connections } of await listConnectedClients(credentials.read))
      printLine(`${client_id}  ${JSON.stringify(client_name)}  ${plural(connections, 'connection')}`)
    return 0
  })
}

/** @throws UsageError no user has connected the program */
async function endProgram(call: Call, client: string): Promise<number> {
  await requireFolder(call.config.dataDir)
  return withDeps(call, async (deps) => {
    const ended = await endConnectionsOf(deps, client)
    if (ended === 0) throw new UsageError('No user has connected this program')
    printLine(`${plural(ended, 'connection')} ended`)
    return 0
  })
}
