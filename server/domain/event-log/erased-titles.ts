/** Removes the titles of erased pull requests from earlier events. Follows the ledger, so a crash loses no erasure. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { emptyWriteAheadLog, eraseTitles } from '../../../index/log/erased-titles.ts'
import { erasedTitle } from '../ledger/erased-records.ts'
import type { Services } from '../services.ts'
import type { NodeAt } from '../targets.ts'

/**
 * Replaces the titles of these pull requests in the events so far, in slices. May be repeated. The caller then records
 * the erasure, so that it is repeated until it has ended.
 */
export async function eraseRecordedTitles(
  { events, log }: Pick<Services, 'events' | 'log'>,
  { org_id: orgId, node_id: nodeId }: NodeAt,
  numbers: readonly number[],
): Promise<void> {
  for (const number of numbers) {
    const erased = { org_id: orgId, node_id: nodeId, number, title: erasedTitle }
    for (let after: number | undefined = 0; after !== undefined; await nextTurn()) {
      const from: number = after
      after = await events.write((trx) => eraseTitles(trx, erased, from))
    }
  }
  if (numbers.length === 0) return
  await emptyWriteAheadLog(events.read).catch((error: unknown) => {
    log.warn({ err: error }, 'a title was erased from the events, but the write-ahead log of the database still has it')
  })
}
