/**
 * Users of an address arrive at an account that somebody else may have opened.
 *
 * That one never confirmed the address, keeps no way in, and nothing that they opened for others works any longer. Only
 * members remain, also other owners: an organisation may have real ones. The mail names them.
 */

import { findAccountById, setAccount } from '../../../index/credentials/accounts.ts'
import { deleteBotTokensOf } from '../../../index/credentials/bots.ts'
import { deleteAllInvitationsBy } from '../../../index/credentials/invitations.ts'
import { deletePendingMembershipsBy } from '../../../index/credentials/pending-memberships.ts'
import type { CredentialsDb } from '../../../index/credentials/schema.ts'
import { turnWebhooksOff } from '../../../index/credentials/webhooks.ts'
import { listMemberNames } from '../../../index/derived/org-queries.ts'
import type { Person } from '../actor.ts'
import { type AuditEntry, audit } from '../audit/audit.ts'
import { queueNotice } from '../mail/notices.ts'
import { shownName } from '../mail/shown-name.ts'
import type { Services } from '../services.ts'
import { endEveryWayIn } from './oidc/identities.ts'
import { listOrgsOf } from './orgs-of.ts'

/** The most members that the mail names. */
const mostNamed = 50

/** The organisations of an account whose user arrives. */
export interface OwnOrgs {
  /** The organisations that it owns, perhaps with others. */
  readonly owned: readonly string[]
  /** The other members of these and of its personal organisation, as a mail shows them. */
  readonly members: readonly string[]
}

/** Finds what somebody else may have opened. Runs before the transaction, because other databases have it. */
export async function findOwnOrgs(deps: Services, accountId: string): Promise<OwnOrgs> {
  const { open, closed, elsewhere } = await listOrgsOf(deps, accountId)
  const account = await findAccountById(deps.credentials.read, accountId)
  const all = [...open, ...closed, ...elsewhere]
  const owned = all.filter(({ role }) => role === 'owner').map(({ id }) => id)
  // The account may have given its personal organisation to another owner.
  const shown = all.filter(({ id }) => id === account?.org_id || owned.includes(id))
  const [owners, others]: [string[], string[]] = [[], []]
  for (const { id, name } of shown)
    for (const member of await listMemberNames(deps.index.read, id)) {
      if (member.user_id === accountId) continue
      if (member.role === 'owner') owners.push(`${shownName(member.name)} (owner of ${shownName(name)})`)
      else others.push(`${shownName(member.name)} (${shownName(name)})`)
    }
  // Owners come first, because the mail names only some.
  return { owned, members: [...owners, ...others] }
}

function listed(members: readonly string[]): string {
  const more = members.length - mostNamed
  return [...members.slice(0, mostNamed), ...(more > 0 ? [`and ${more} more`] : [])].join(', ')
}

/**
 * Ends every way into an account whose address was never confirmed. Withdraws its invitations, the tokens of bots that
 * it created, and its webhooks. In the organisations that it owns, withdraws all tokens of bots and all webhooks, because
 * an owner can give a bot of others a token. A mail names the members who remain.
 *
 * @returns a function that writes the audit, after the commit
 */
export async function takeOver(
  deps: Services,
  trx: CredentialsDb,
  accountId: string,
  { owned, members }: OwnOrgs,
): Promise<(actor: Person) => Promise<void>> {
  const now = deps.now().toISOString()
  await endEveryWayIn(trx, accountId, now)
  await setAccount(trx, accountId, { has_identity: 0, email_verified_at: now })
  await deletePendingMembershipsBy(trx, accountId)
  const invitations = await deleteAllInvitationsBy(trx, accountId)
  const tokens = await deleteBotTokensOf(trx, owned, accountId)
  const hooks = await turnWebhooksOff(trx, owned, accountId)
  const withdrawn = `${invitations.length} invitations, ${tokens.length} tokens of bots, ${hooks.length} webhooks`
  if (invitations.length + tokens.length + hooks.length + members.length > 0)
    await queueNotice(deps, trx, 'taken_over', accountId, { withdrawn, members: listed(members) })
  const inOrg = (orgId: string | null) => (orgId === null ? {} : { orgId })
  const entries: AuditEntry[] = [
    ...invitations.map(({ id, org_id }) => ({
      ...{ action: 'invitation.revoked' as const, target: { type: 'invitation' as const, id }, ...inOrg(org_id) },
    })),
    ...tokens.map(({ id, account_id, org_id }) => ({
      ...{ action: 'bot.token_revoked' as const, target: { type: 'token' as const, id }, ...inOrg(org_id) },
      detail: { bot: account_id },
    })),
    ...hooks.map(({ id, org_id }) => ({
      ...{ action: 'webhook.disabled' as const, target: { type: 'webhook' as const, id }, ...inOrg(org_id) },
      detail: { reason: 'by_owner' },
    })),
  ]
  return async (actor) => {
    for (const entry of entries) await audit(deps, { ...entry, actor })
  }
}
