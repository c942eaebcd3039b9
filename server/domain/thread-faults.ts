/** Errors that leave a worker thread as messages, since they lose their class between threads. */
import { DatabaseFault } from '../../index/sqlite/database-fault.ts'

export type ThreadFault =
  | { readonly kind: 'fault'; readonly code: DatabaseFault['code']; readonly message: string }
  /** With the stack. */
  | { readonly kind: 'error'; readonly message: string }

export function toThreadFault(error: unknown): ThreadFault {
  if (error instanceof DatabaseFault) return { kind: 'fault', code: error.code, message: error.message }
  return { kind: 'error', message: error instanceof Error ? (error.stack ?? error.message) : String(error) }
}
