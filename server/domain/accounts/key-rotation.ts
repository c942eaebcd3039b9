/** Replaces the signing key with a new one. */
import {
  deleteRetiredTokenKeys,
  insertTokenKey,
  lockSigningKey,
  retireOtherTokenKeys,
} from '../../../index/credentials/token-keys.ts'
import { operator } from '../actor.ts'
import { type AuditDeps, audit } from '../audit/audit.ts'
import type { Services } from '../services.ts'
import { accessSeconds, newKey } from './keys.ts'

/** Milliseconds from the announcement of a key to its first signature. Clients may cache the key set that long. */
const announcedMs = 10 * 60_000
/** Milliseconds that a key verifies after its last signature. A token's lifetime, plus a minute for clocks. */
const verifiesMs = accessSeconds * 1_000 + 60_000

export interface Rotation {
  readonly kid: string
  readonly signsFrom: Date
}

/**
 * Creates a key. It is published at once and signs after ten minutes. The previous key verifies until its last token
 * has expired. `immediately`, for a key that has leaked: the new one signs now, and every token signed by another ends.
 */
export async function rotateKeys(
  deps: Pick<Services, 'credentials'> & AuditDeps,
  { immediately }: { readonly immediately: boolean },
): Promise<Rotation> {
  const { credentials, now } = deps
  const createdAt = now()
  const signsFrom = new Date(createdAt.getTime() + (immediately ? 0 : announcedMs))
  const retiredAt = immediately ? createdAt : new Date(signsFrom.getTime() + verifiesMs)
  const key = await newKey(createdAt, signsFrom)
  await credentials.write(async (trx) => {
    await lockSigningKey(trx)
    await insertTokenKey(trx, key)
    await retireOtherTokenKeys(trx, key.kid, retiredAt.toISOString())
    await deleteRetiredTokenKeys(trx, new Date(createdAt.getTime() - verifiesMs).toISOString())
  })
  const target = { type: 'key', id: key.kid } as const
  await audit(deps, { action: 'keys.rotated', actor: operator, target, detail: { immediately } })
  return { kid: key.kid, signsFrom }
}
