/** Indexes organisations whose change is made, before the response: it may give access, or take it away. */
import { setTimeout as sleep } from 'node:timers/promises'
import { allDone } from '../../../gitstore/durable.ts'
import type { Deps } from '../../base/deps.ts'
import { AppError } from '../../base/errors.ts'
import { indexOrg } from './index-node.ts'

/** Milliseconds before each retry of an index that has failed; after the last, the sweep or the next start finds it. */
const retryDelays = [500, 1_000, 2_000, 4_000, 8_000, 16_000] as const

/**
 * Brings the index, and the directory of cells, up to an organisation that was made, changed or removed; where that fails it
 * is retried in the background.
 *
 * @param declare says in the directory that its folder has come, or gone
 * @throws AppError outcome_unknown (made, but not indexed)
 */
export async function indexChangedOrg(deps: Deps, orgId: string, declare?: () => Promise<void>): Promise<void> {
  const index = () => allDone([declare?.(), indexOrg(deps, orgId, 'with its card')])
  await index().catch((error: unknown) => {
    deps.log.error(
      { err: error, orgId },
      'an organisation could not be indexed, or written to the directory of cells; it is retried',
    )
    void retry(deps, index)
    throw new AppError('outcome_unknown', 'The change is stored, but not in force everywhere yet; read again')
  })
}

/** Until it is indexed, or the service stops. Two retries of one organisation do no harm. */
async function retry({ draining }: Pick<Deps, 'draining'>, index: () => Promise<void>): Promise<void> {
  for (const delay of retryDelays) {
    await sleep(delay, undefined, { ref: false, signal: draining }).catch(() => {})
    if (draining.aborted) return
    const isIndexed = await index().then(
      () => true,
      () => false,
    )
    if (isIndexed) return
  }
}
