import type { Deps } from '../deps.ts'
import { Refusal } from '../errors.ts'

/** @throws Refusal draining; whatever the databases throw that cannot be read */
export async function requireReady(deps: Deps): Promise<void> {
  if (deps.draining.aborted) throw new Refusal('draining', 'The service is about to stop')
  await deps.credentials.read.selectFrom('signing_key').select('id').execute()
  await deps.index.read.selectFrom('org').select('id').limit(1).execute()
}
