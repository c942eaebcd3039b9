/** The lock for opening, upgrading or moving credentials, by one process at a time. */
import { join } from 'node:path'
import { withFileLock } from '../../../index/sqlite/file-lock.ts'
import { runFolder } from '../layout.ts'

/** Milliseconds that another process may take. */
const timeoutMs = 120_000

/** @returns undefined if `signal` was aborted first @throws DatabaseError busy */
export function withCredentialsLock<T>(
  root: string,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T | undefined> {
  return withFileLock(join(runFolder(root), 'credentials-opening'), signal, work, timeoutMs)
}
