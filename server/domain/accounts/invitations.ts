/** Invitations of an organisation: made, listed and withdrawn by its owners, or made by the operator. */
import { v7 as newId } from 'uuid'
import { emailKey } from '../../../index/credentials/accounts.ts'
import {
  countOpenInvitations,
  deleteOpenInvitation,
  holdInvitationsOf,
  insertInvitation,
  listOpenInvitations,
} from '../../../index/credentials/invitations.ts'
import type { OrgInvitation, Invitation as Row } from '../../../index/credentials/schema.ts'
import type { Role } from '../../../index/derived/schema.ts'
import type { Deps } from '../../base/deps.ts'
import { invalid, Refusal } from '../../base/errors.ts'
import { findOrg, orgFor } from '../access.ts'
import type { Operator, Person } from '../actor.ts'
import type { InvitationAt, OrgAt } from '../at.ts'
import { type Page, pageOf } from '../pagination.ts'
import { requireEmail } from './identity.ts'
import { hashOf, newToken } from './tokens.ts'

const dayMs = 24 * 3600 * 1000

/** Days that an invitation lasts. */
export const invitationDays = { default: 7, longest: 30 } as const

/** People that one invitation lets in at most. */
export const mostUses = 1_000

/** Of an organisation, those that have ended not counted. */
const maxInvitations = 1_000

interface Invitation {
  readonly id: string
  readonly role: Role
  /** The only address that may use it, in lower case. */
  readonly email?: string
  readonly uses_left: number
  readonly expires_at: string
  /** The owner's account; absent: the operator. */
  readonly created_by?: string
  readonly created_at: string
}

/** The secret is in `token`, and in `url` behind the `#`, which no browser sends to a server. */
export type CreatedInvitation = Invitation & { readonly token: string }

export interface InvitationBounds {
  readonly email?: string
  /** Default: 1. */
  readonly uses?: number
  /** ISO 8601, within 30 days. Default: in 7 days. */
  readonly expires_at?: string
}

export interface NewInvitation extends InvitationBounds {
  readonly role: Role
}

/**
 * The secret is shown only in this answer.
 *
 * @throws Invalid email, expires_at; Refusal org_not_found, forbidden, too_many_invitations
 */
export async function createInvitation(
  deps: Deps,
  actor: Person | Operator,
  at: OrgAt,
  { role, ...bounds }: NewInvitation,
): Promise<CreatedInvitation> {
  if (actor.kind === 'person') await orgFor(deps, actor, at, 'owner')
  else if (!(await findOrg(deps, at.orgId))) throw new Refusal('org_not_found', 'Organisation not found')
  const created_by = actor.kind === 'person' ? actor.id : null
  const { row, token } = await insert(deps, { org_id: at.orgId, role, created_by }, bounds)
  return { ...toInvitation({ ...row, role }), token }
}

/** Only lets people sign up. @throws Invalid as createInvitation */
export async function createSignUpInvitation(
  deps: Deps,
  _actor: Operator,
  bounds: InvitationBounds,
): Promise<{ readonly token: string }> {
  const { token } = await insert(deps, { org_id: null, role: null, created_by: null }, bounds)
  return { token }
}

/** Where people read how to use it. `base`: the service's address, without a slash at its end. */
export function invitationUrl(base: string, token: string): string {
  return `${base}/join#token=${token}`
}

/** Those that have not ended, the oldest first. */
export async function listInvitations(deps: Deps, actor: Person, at: OrgAt, page: Page) {
  await orgFor(deps, actor, at, 'owner')
  const { read } = deps.credentials
  const now = deps.now().toISOString()
  const rows = await listOpenInvitations(read, at.orgId, now, page)
  return { invitations: rows.map(toInvitation), ...pageOf(page, await countOpenInvitations(read, at.orgId, now)) }
}

/** @throws Refusal invitation_not_found, also for one that has ended */
export async function revokeInvitation(deps: Deps, actor: Person, at: InvitationAt): Promise<void> {
  await orgFor(deps, actor, at, 'owner')
  const now = deps.now().toISOString()
  const deleted = await deps.credentials.write((trx) => deleteOpenInvitation(trx, at.orgId, at.invitationId, now))
  if (!deleted) throw new Refusal('invitation_not_found', 'Invitation not found')
}

async function insert(
  deps: Deps,
  given: Pick<Row, 'org_id' | 'role' | 'created_by'>,
  { email, uses = 1, expires_at }: InvitationBounds,
): Promise<{ readonly row: Row; readonly token: string }> {
  if (email !== undefined) requireEmail(email)
  const now = deps.now()
  const created_at = now.toISOString()
  const token = newToken('invite')
  const row: Row = {
    ...given,
    id: newId(),
    hash: hashOf(token),
    email_key: email === undefined ? null : emailKey(email),
    uses_left: uses,
    expires_at: expiryOf(expires_at, now),
    created_at,
  }
  await deps.credentials.write(async (trx) => {
    if (row.org_id !== null) {
      await holdInvitationsOf(trx, row.org_id)
      if ((await countOpenInvitations(trx, row.org_id, created_at)) >= maxInvitations)
        throw new Refusal('too_many_invitations', `There are ${maxInvitations} open invitations; revoke some first`)
    }
    await insertInvitation(trx, row)
  })
  return { row, token }
}

function expiryOf(text: string | undefined, now: Date): string {
  const { default: usual, longest } = invitationDays
  const time = text === undefined ? new Date(now.getTime() + usual * dayMs) : new Date(text)
  const end = now.getTime() + longest * dayMs
  if (time > now && time.getTime() <= end) return time.toISOString()
  throw invalid(['body', 'expires_at'], `An invitation must end in the future, and within ${longest} days`, text)
}

function toInvitation({
  id,
  role,
  email_key,
  uses_left,
  expires_at,
  created_by,
  created_at,
}: OrgInvitation): Invitation {
  return {
    id,
    role,
    ...(email_key === null ? {} : { email: email_key }),
    uses_left,
    expires_at,
    ...(created_by === null ? {} : { created_by }),
    created_at,
  }
}
