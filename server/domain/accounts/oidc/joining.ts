/** The organisation that users of a provider join: `_ORG`. */

import { findCard } from '../../../../index/credentials/org-cards.ts'
import { findPendingMembership, insertPendingMembership } from '../../../../index/credentials/pending-memberships.ts'
import type { CredentialsDb, PendingMembership } from '../../../../index/credentials/schema.ts'
import { findRole } from '../../../../index/derived/org-queries.ts'
import { isClosed } from '../../format/org-format.ts'
import { findAnyOrg } from '../../indexing/freshness.ts'
import type { Services } from '../../services.ts'
import type { Provider } from './providers.ts'

/**
 * Returns the membership that the user gets. Undefined: there is none to give, or the user is a member already. A row
 * waits until its own cell commits it to org.git, like that of an invitation.
 */
export async function membershipFor(
  deps: Services,
  { id, org }: Provider,
  accountId: string,
): Promise<PendingMembership | undefined> {
  if (org === undefined) return undefined
  const isElsewhere = (await deps.placement.findElsewhere(org.id)) !== undefined
  const row = isElsewhere ? undefined : await findAnyOrg(deps, org.id)
  if (row && isClosed(row)) return undefined
  if (!isElsewhere && row === undefined) {
    deps.log.warn({ provider: id, orgId: org.id }, 'the organisation that users of a provider join does not exist')
    return undefined
  }
  const role = isElsewhere
    ? (await findCard(deps.credentials.read, org.id, accountId))?.role
    : await findRole(deps.index.read, org.id, accountId)
  if (role != null) return undefined
  return {
    account_id: accountId,
    org_id: org.id,
    role: org.role,
    invited_by: null,
    created_at: deps.now().toISOString(),
  }
}

/** Inserts the row, unless an invitation has given another one. */
export async function takeMembership(trx: CredentialsDb, pending: PendingMembership): Promise<void> {
  if ((await findPendingMembership(trx, pending.account_id, pending.org_id)) === undefined)
    await insertPendingMembership(trx, pending)
}
