/** `grove mail`: shows the mails that were not sent, and sends them again. */
import type { Command } from 'commander'
import { listMails, retryMails } from '../../../index/credentials/mail.ts'
import { plural } from '../../base/plural.ts'
import { printable } from '../../domain/format/text-rules.ts'
import { isId } from '../../domain/layout.ts'
import { type Call, examples, printLine, type Run, requireFolder, UsageError, withDeps } from './command.ts'

/** The most mails that are listed. */
const most = 1_000

export function addMailCommands(program: Command, run: Run): void {
  const mail = program
    .command('mail')
    .description('Manage mails that were not sent')
    .addHelpText('after', examples('grove mail list', 'grove mail retry 01980a5e-7c41-7d02-8c1b-5e2f7a9b4c02'))

  mail
    .command('list')
    .description('List mails that wait or failed, oldest first')
    .action(async () => {
      run.ends(await listAll(run.call()))
    })

  mail
    .command('retry')
    .description('Send mails again that wait or failed')
    .argument('[id]', 'Id of one mail (default: all)')
    .action(async (id?: string) => {
      run.ends(await retry(run.call(), id))
    })
}

async function listAll(call: Call): Promise<number> {
  await requireFolder(call.config.dataDir)
  return withDeps(call, async ({ credentials }) => {
    for (const { id, kind, address, created_at, attempts, failed_at, error } of await listMails(
      credentials.read,
      most,
    )) {
      const state = failed_at === null ? 'waits' : 'failed'
      printLine(
        printable([id, kind, address, created_at, state, plural(attempts, 'attempt'), error ?? ''].join('  ').trim()),
      )
    }
    return 0
  })
}

async function retry(call: Call, id: string | undefined): Promise<number> {
  if (id !== undefined && !isId(id)) throw new UsageError('The id of a mail is a UUID, as grove mail list prints it')
  await requireFolder(call.config.dataDir)
  return withDeps(call, async ({ credentials, now }) => {
    const count = await credentials.write((trx) => retryMails(trx, now(), id))
    printLine(`${plural(count, 'mail')} will be sent again by the running service`)
    return id !== undefined && count === 0 ? 1 : 0
  })
}
