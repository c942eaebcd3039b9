/** The readiness check of the service. */
import { findSigningKey } from '../../../index/credentials/token-keys.ts'
import { probeOrgs } from '../../../index/derived/org-queries.ts'
import { findProgress, type Progress } from '../../../index/derived/whole-orgs.ts'
import { AppError } from '../../base/errors.ts'
import type { Services } from '../services.ts'

/** `indexing`: the index is being rebuilt. Each organisation is served when it is indexed. */
export type Readiness = { readonly status: 'ready' } | { readonly status: 'indexing'; readonly nodes?: Progress }

/**
 * Checks that the service can answer.
 *
 * @throws AppError draining; errors of a database that cannot be read
 */
export async function getReadiness(deps: Services): Promise<Readiness> {
  if (deps.draining.aborted) throw new AppError('draining', 'The service is about to stop')
  await findSigningKey(deps.credentials.read)
  const { read } = deps.partialIndex?.all ?? deps.index
  await probeOrgs(read)
  if (deps.partialIndex?.isWhole() ?? true) return { status: 'ready' }
  const nodes = await findProgress(read)
  return { status: 'indexing', ...(nodes && { nodes }) }
}
