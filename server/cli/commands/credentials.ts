/** `grove credentials-to-postgres`: accounts, sessions and keys move to the database of DATABASE_URL. */
import { postgresOf } from '../../base/config.ts'
import { movedCredentialsFile } from '../../domain/layout.ts'
import { moveCredentials } from '../../domain/operator/credentials-move.ts'
import { type Call, printLine, requireFolder, UsageError } from './command.ts'

/** @throws UsageError where it cannot be done; nothing has changed then */
export async function moveToPostgres({ config, signal }: Call): Promise<number> {
  const postgres = postgresOf(config)
  if (postgres === undefined) throw new UsageError('DATABASE_URL is not set: it names the database')
  await requireFolder(config.dataDir)
  const refused = await moveCredentials(config.dataDir, postgres, signal)
  signal.throwIfAborted()
  if (refused !== undefined) throw new UsageError(refused)
  printLine('Accounts, sessions, tokens, invitations and keys are in the database of DATABASE_URL.')
  printLine('Start the service with DATABASE_URL set, and back it up by grove backup or the database’s own means.')
  printLine(`${movedCredentialsFile} is the former file: remove it when a backup of the database exists.`)
  return 0
}
