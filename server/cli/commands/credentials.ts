/** `grove credentials-to-postgres`: moves accounts, sessions and keys to the database of DATABASE_URL. */
import { postgresOf } from '../../base/config.ts'
import { movedCredentialsFile } from '../../domain/layout.ts'
import { moveCredentials } from '../../domain/operator/credentials-move.ts'
import { type Call, printLine, requireFolder, UsageError } from './command.ts'

/** @throws UsageError if it cannot be done, and then nothing has changed */
export async function moveToPostgres({ config, signal }: Call): Promise<number> {
  const postgres = postgresOf(config)
  if (postgres === undefined) throw new UsageError('DATABASE_URL is not set. Set it to the database to move to')
  await requireFolder(config.dataDir)
  const refused = await moveCredentials(config.dataDir, postgres, signal)
  signal.throwIfAborted()
  if (refused !== undefined) throw new UsageError(refused)
  printLine('Accounts, sessions, tokens, invitations and keys are now in the database of DATABASE_URL.')
  printLine('Start the service with DATABASE_URL set. Back it up with grove backup or with the tools of the database.')
  printLine(`${movedCredentialsFile} is the old file. Remove it once you have a backup of the database.`)
  return 0
}
