/** The identities of a user at providers: listed, linked and removed. */

import { v7 as newId } from 'uuid'
import { removePassword, setAccount } from '../../../../index/credentials/accounts.ts'
import {
  countIdentities,
  deleteIdentitiesOf,
  deleteIdentity,
  findIdentityOf,
  insertIdentity,
  listIdentities,
} from '../../../../index/credentials/identities.ts'
import type { CredentialsDb, Identity as Row } from '../../../../index/credentials/schema.ts'
import {
  deleteResetTokens,
  setSessionsOfIdentityRevoked,
  setSessionsRevoked,
} from '../../../../index/credentials/sessions.ts'
import { AppError } from '../../../base/errors.ts'
import * as limits from '../../../base/limits.ts'
import type { Person } from '../../actor.ts'
import { audit } from '../../audit/audit.ts'
import { queueNotice } from '../../mail/notices.ts'
import { type Page, pageOf } from '../../pagination.ts'
import type { Ctx, RequestCtx, Services } from '../../services.ts'
import type { Body, IdentityAt, Path, Query } from '../../targets.ts'
import { endTokens } from '../access-tokens.ts'
import { dropAddressChange } from '../email-tokens.ts'
import { type PasswordProof, provePassword, requireStillProved } from '../password-proof.ts'
import { dummyHash } from '../passwords.ts'
import type { Passed } from './mapping.ts'
import { findProvider, type Provider } from './providers.ts'

export interface Identity {
  readonly id: string
  /** The provider's id in the configuration. */
  readonly provider: string
  readonly provider_name: string
  /** The address that the provider last confirmed, or named when it was linked. */
  readonly email?: string
  readonly created_at: string
  /** When the user last passed the provider. */
  readonly confirmed_at: string
}

/** Lists the caller's identities, oldest first. */
export async function listMyIdentities(ctx: Ctx<Person>, { query }: Query<Page>) {
  const { read } = ctx.credentials
  const rows = await listIdentities(read, ctx.actor.id, query)
  const identities = rows.map((row) => toIdentity(ctx, row))
  return { identities, ...pageOf(query, await countIdentities(read, ctx.actor.id)) }
}

function toIdentity(deps: Services, { id, provider, email, created_at, confirmed_at }: Row): Identity {
  const provider_name = findProvider(deps, provider)?.name ?? provider
  return { id, provider, provider_name, ...(email === null ? {} : { email }), created_at, confirmed_at }
}

/**
 * Removes an identity, and ends the sessions that it has opened.
 *
 * @throws AppError identity_not_found, last_way_in, confirmation_required, invalid_credentials, rate_limited
 */
export async function removeIdentity(
  ctx: RequestCtx<Person>,
  { path: { identity_id: identityId }, body }: Path<IdentityAt> & Body<PasswordProof>,
): Promise<void> {
  const { read, write } = ctx.credentials
  if ((await findIdentityOf(read, ctx.actor.id, identityId)) === undefined) throw identityNotFound()
  const account = await provePassword(ctx, body)
  const provider = await write(async (trx) => {
    await requireStillProved(trx, ctx.actor, account)
    const identity = await findIdentityOf(trx, ctx.actor.id, identityId)
    if (identity === undefined) throw identityNotFound()
    const others = (await countIdentities(trx, ctx.actor.id)) - 1
    const hasPassword = account.has_password === 1 && ctx.config.passwordLogin !== false
    if (others === 0 && !hasPassword)
      throw new AppError('last_way_in', 'You could not sign in any more; set a password or link another service first')
    await setSessionsOfIdentityRevoked(trx, identityId, ctx.now().toISOString())
    await deleteIdentity(trx, identityId)
    if (others === 0) await setAccount(trx, ctx.actor.id, { has_identity: 0 })
    return identity.provider
  })
  const target = { type: 'identity', id: identityId } as const
  await audit(ctx, { action: 'identity.removed', actor: ctx.actor, target, detail: { provider } })
}

function identityNotFound(): AppError {
  return new AppError('identity_not_found', 'Identity not found')
}

export function newIdentity(deps: Services, provider: Provider, passed: Passed, accountId: string): Row {
  const now = deps.now().toISOString()
  const { issuer, subject, email = null } = passed
  return {
    id: newId(),
    provider: provider.id,
    issuer,
    subject,
    account_id: accountId,
    email,
    created_at: now,
    confirmed_at: now,
  }
}

/** The subject got an identity since it was searched. The caller decides again. */
export class JustLinkedError extends Error {
  constructor() {
    super('The subject has just got an identity')
    this.name = 'JustLinkedError'
  }
}

/**
 * Links an identity to an account, whose row the caller has locked or inserted.
 *
 * @throws JustLinkedError
 * @throws AppError too_many_identities
 */
export async function link(trx: CredentialsDb, identity: Row): Promise<void> {
  if ((await countIdentities(trx, identity.account_id)) >= limits.identities)
    throw new AppError(
      'too_many_identities',
      `An account has at most ${limits.identities} identities; remove one first`,
    )
  if (!(await insertIdentity(trx, identity))) throw new JustLinkedError()
  await setAccount(trx, identity.account_id, { has_identity: 1 })
}

/** Links an identity to an account that its user knows, and mails the user. @throws errors of `link` */
export async function linkAndNotify(deps: Services, trx: CredentialsDb, identity: Row): Promise<void> {
  await link(trx, identity)
  const name = findProvider(deps, identity.provider)?.name ?? identity.provider
  await queueNotice(deps, trx, 'linked', identity.account_id, { name })
}

/** Records a link after its commit. */
export async function recordLink(ctx: Ctx<Person>, { id, provider }: Row): Promise<void> {
  await audit(ctx, {
    action: 'identity.linked',
    actor: ctx.actor,
    target: { type: 'identity', id },
    detail: { provider },
  })
}

/**
 * Ends every way into an account. Somebody who signed up with another user's address keeps nothing when that user
 * arrives.
 */
export async function endEveryWayIn(trx: CredentialsDb, accountId: string, now: string): Promise<void> {
  await removePassword(trx, accountId, dummyHash)
  await setSessionsRevoked(trx, accountId, now)
  await endTokens(trx, accountId)
  await deleteResetTokens(trx, accountId)
  await dropAddressChange(trx, accountId)
  await deleteIdentitiesOf(trx, accountId)
}
