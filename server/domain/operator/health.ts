/** Whether the service can answer. */
import { findSigningKey } from '../../../index/credentials/token-keys.ts'
import { probeOrgs } from '../../../index/derived/org-queries.ts'
import type { Deps } from '../../base/deps.ts'
import { AppError } from '../../base/errors.ts'

/**
 * `indexing`: the index is being made again, and organisations are served as each is in it.
 *
 * @throws AppError draining; errors of a database that cannot be read
 */
export async function requireReady(deps: Deps): Promise<'ready' | 'indexing'> {
  if (deps.draining.aborted) throw new AppError('draining', 'The service is about to stop')
  await findSigningKey(deps.credentials.read)
  await probeOrgs((deps.partialIndex?.all ?? deps.index).read)
  return (deps.partialIndex?.isWhole() ?? true) ? 'ready' : 'indexing'
}
