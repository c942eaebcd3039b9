/** Removes the name of a deleted account from the audit, and notes it for events. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { putForgotten, removeAuditName } from '../../../index/log/audit.ts'
import type { AuditDeps } from './audit.ts'

/** Rows that are changed in one transaction. */
const rowsAtOnce = 2_000

/** Removes the name, whose id stays. A failure is logged. */
export async function forgetName(deps: AuditDeps, { id, name }: { readonly id: string; readonly name: string }) {
  const now = deps.now().getTime()
  const noted = { user_id: id, name, deleted_ms: now, due_ms: now, passes: 0, org_id: '', seq: 0 }
  try {
    await deps.events.write((trx) => putForgotten(trx, noted))
    while (!(await deps.events.write((trx) => removeAuditName(trx, id, rowsAtOnce)))) await nextTurn()
  } catch (error) {
    deps.log.error({ err: error, account: id }, 'the name of a deleted account could not be removed from the events')
  }
}
