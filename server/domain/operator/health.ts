/** The readiness check of the service. */
import { findSigningKey } from '../../../index/credentials/token-keys.ts'
import { probeOrgs } from '../../../index/derived/org-queries.ts'
import { AppError } from '../../base/errors.ts'
import type { Services } from '../services.ts'

/**
 * Checks that the service can answer.
 *
 * @returns `indexing` while the index is being rebuilt; each organisation is served when it is indexed
 *
 * @throws AppError draining; errors of a database that cannot be read
 */
export async function getReadiness(deps: Services): Promise<'ready' | 'indexing'> {
  if (deps.draining.aborted) throw new AppError('draining', 'The service is about to stop')
  await findSigningKey(deps.credentials.read)
  await probeOrgs((deps.partialIndex?.all ?? deps.index).read)
  return (deps.partialIndex?.isWhole() ?? true) ? 'ready' : 'indexing'
}
