/** `grove events`: prints the events that Git alone can tell. */
import { once } from 'node:events'
import type { Command } from 'commander'
import { plural } from '../../base/plural.ts'
import { deriveEvents } from '../../domain/event-log/derive.ts'
import { printable } from '../../domain/format/text-rules.ts'
import { type Call, examples, type Run, requireFolder, requireOrgId, UsageError, withDeps } from './command.ts'

export function addEventsCommand(program: Command, run: Run): void {
  program
    .command('events')
    .description('Print what Git says happened in an organisation, as JSON lines, oldest first')
    .argument('<org>', 'The id of the organisation')
    .option('--derive', 'Derive the events from the repositories, also those from before the log began')
    .addHelpText('after', examples('grove events 01980a5e-7c41-7d02-8c1b-5e2f7a9b4c02 --derive'))
    .action(async (org: string, { derive = false }: { readonly derive?: boolean }) => {
      if (!derive)
        throw new UsageError('Give --derive. To read the log of a running service, use GET /orgs/{org_id}/events')
      run.ends(await printDerived(run.call(), requireOrgId(org)))
    })
}

async function printDerived(call: Call, orgId: string): Promise<number> {
  await requireFolder(call.config.dataDir)
  return withDeps(call, async (deps) => {
    const { lines, damaged } = await deriveEvents(deps, orgId, call.signal)
    for (const line of lines) {
      const isTaken = process.stdout.write(`${printable(line)}\n`)
      if (process.stdout.destroyed) return 0
      if (!isTaken) await once(process.stdout, 'drain', { signal: call.signal }).catch(() => {})
    }
    if (damaged.length === 0) return 0
    process.stderr.write(`${plural(damaged.length, 'node')} cannot be read: ${damaged.join(', ')}\n`)
    return 1
  })
}
