/** Makes commits of `events.sqlite` durable. Its commits alone survive a crash of the process, not a power cut. */
import { open } from 'node:fs/promises'

/**
 * Syncs the log file of a database. Everything that was committed before the call is then durable. Without that file
 * SQLite has synced the database itself.
 *
 * @throws system errors
 */
export async function syncDatabaseLog(file: string): Promise<void> {
  // SQLite has no locks on this file, which closing it would drop.
  const log = await open(`${file}-wal`, 'r+').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (log === undefined) return
  try {
    await log.datasync()
  } finally {
    await log.close()
  }
}
