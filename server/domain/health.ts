import { findSigningKey } from '../../index/credentials/signing-key.ts'
import { probeOrgs } from '../../index/derived/org-queries.ts'
import type { Deps } from '../deps.ts'
import { Refusal } from '../errors.ts'

/** @throws Refusal draining; errors of a database that cannot be read */
export async function requireReady(deps: Deps): Promise<void> {
  if (deps.draining.aborted) throw new Refusal('draining', 'The service is about to stop')
  await findSigningKey(deps.credentials.read)
  await probeOrgs(deps.index.read)
}
