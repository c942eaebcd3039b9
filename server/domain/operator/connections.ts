/** Ends connections by OAuth, for the operator. */
import { deleteGrantsOfClient } from '../../../index/credentials/oauth.ts'
import { operator } from '../actor.ts'
import { audit } from '../audit/audit.ts'
import type { Services } from '../services.ts'

/** Ends all connections of a program. Returns their number. */
export async function endConnectionsOf(deps: Services, clientId: string): Promise<number> {
  const ended = await deps.credentials.write((trx) => deleteGrantsOfClient(trx, clientId))
  for (const { id, account_id: accountId } of ended)
    await audit(deps, { action: 'connection.ended', actor: operator, accountId, target: { type: 'connection', id } })
  return ended.length
}
