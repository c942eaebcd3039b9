/** `grove audit`: exports what happened, for another machine to keep. */
import { once } from 'node:events'
import type { Command } from 'commander'
import {
  type Call,
  examples,
  type Run,
  requireFolder,
  requireOrgId,
  requireSince,
  withDeps,
} from '../../../cli/commands/command.ts'
import { printable } from '../../../domain/format/text-rules.ts'
import { exportAudit } from '../export.ts'

interface AuditOptions {
  readonly org?: string
  readonly since?: string
  readonly follow?: boolean
}

export function addAuditCommands(program: Command, run: Run): void {
  program
    .command('audit')
    .description('Inspect who did what')
    .command('export')
    .description('Print events and the audit as JSON lines, oldest first, also while the service runs')
    .option('--org <id>', 'Only this organisation (default: all, and what is not about one)')
    .option('--since <time>', 'Only entries of this time or later, such as 2025-07-14T09:30:00Z')
    .option('--follow', 'Keep running, and print new entries within a second')
    .addHelpText(
      'after',
      examples('grove audit export --since 2025-07-14', 'grove audit export --follow | logger -t grove-audit'),
    )
    .action(async (options: AuditOptions) => {
      run.ends(await printAudit(run.call(), options))
    })
}

async function printAudit(call: Call, { org, since, follow = false }: AuditOptions): Promise<number> {
  const orgId = org === undefined ? undefined : requireOrgId(org)
  const sinceMs = since === undefined ? 0 : requireSince(since)
  await requireFolder(call.config.dataDir)
  return withDeps(call, async (deps) => {
    for await (const entry of exportAudit(deps, { orgId, sinceMs, follow, signal: call.signal })) {
      // Escapes of text are escapes of JSON.
      const isTaken = process.stdout.write(`${printable(JSON.stringify(entry))}\n`)
      if (process.stdout.destroyed) return 0
      if (!isTaken) await once(process.stdout, 'drain', { signal: call.signal }).catch(() => {})
    }
    return 0
  })
}
