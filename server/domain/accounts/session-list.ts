/** The open sessions of a user, and the user of a session. */

import { findActiveProfile, findProfileOfSession } from '../../../index/credentials/accounts.ts'
import type { Session as Row } from '../../../index/credentials/schema.ts'
import {
  countOpenSessions,
  listOpenSessions,
  setSessionRevokedOf,
  setSessionsRevoked,
  setSessionUsed,
} from '../../../index/credentials/sessions.ts'
import { AppError } from '../../base/errors.ts'
import type { Person } from '../actor.ts'
import { audit } from '../audit/audit.ts'
import { type Page, pageOf } from '../pagination.ts'
import type { Ctx, Services } from '../services.ts'
import type { Path, Query, SessionAt } from '../targets.ts'
import { recordLastUse } from './last-used.ts'
import { isSessionStale } from './oidc/freshness.ts'
import { personOf } from './user-view.ts'

export interface OpenSession {
  readonly id: string
  /** True if the request belongs to this session. */
  readonly current: boolean
  readonly created_at: string
  /** At most a minute before the last use. */
  readonly last_used_at?: string
  readonly user_agent?: string
  /** The network from which it was opened. */
  readonly address?: string
  readonly method?: 'password' | 'reset' | 'oidc'
  /** The provider through which it was opened. */
  readonly provider?: string
}

/** Lists the caller's open sessions, newest first. */
export async function listSessions(ctx: Ctx<Person>, { query }: Query<Page>) {
  const { read } = ctx.credentials
  const now = ctx.now().toISOString()
  const rows = await listOpenSessions(read, ctx.actor.id, now, query)
  const sessions = rows.map((row) => toOpenSession(row, ctx.actor.sessionId))
  return { sessions, ...pageOf(query, await countOpenSessions(read, ctx.actor.id, now)) }
}

/**
 * Ends a session. Its tokens are refused from the next request, in every process.
 *
 * @throws AppError session_not_found
 */
export async function endSession(
  ctx: Ctx<Person>,
  { path: { session_id: sessionId } }: Path<SessionAt>,
): Promise<void> {
  const now = ctx.now().toISOString()
  const ended = await ctx.credentials.write((trx) => setSessionRevokedOf(trx, ctx.actor.id, sessionId, now))
  if (!ended) throw new AppError('session_not_found', 'Session not found')
  await audit(ctx, { action: 'auth.session_revoked', actor: ctx.actor, target: { type: 'session', id: sessionId } })
}

/** Ends all sessions of the caller, except the one of the request. */
export async function endOtherSessions(ctx: Ctx<Person>): Promise<void> {
  const now = ctx.now().toISOString()
  await ctx.credentials.write((trx) => setSessionsRevoked(trx, ctx.actor.id, now, ctx.actor.sessionId))
  const target = { type: 'account', id: ctx.actor.id } as const
  await audit(ctx, { action: 'auth.session_revoked', actor: ctx.actor, target, detail: { sessions: 'all others' } })
}

/**
 * Returns the user of a session. Undefined: it has ended or must pass its provider again, or its account is disabled or
 * gone.
 */
export async function findSessionPerson(
  deps: Services,
  accountId: string,
  sessionId: string,
): Promise<Person | undefined> {
  const profile = await findProfileOfSession(deps.credentials.read, sessionId, accountId)
  if (profile === undefined || (await isSessionStale(deps, profile))) return undefined
  recordLastUse(deps, profile, { id: sessionId, usedAt: profile.last_used_at, write: setSessionUsed })
  return { ...personOf(profile), sessionId }
}

/**
 * Returns the user of an access token without a session. It ends after at most 15 minutes. Undefined: the account is
 * gone, or a bot.
 */
export async function findPerson(deps: Services, accountId: string): Promise<Person | undefined> {
  const profile = await findActiveProfile(deps.credentials.read, accountId)
  return profile?.kind === 'person' ? personOf(profile) : undefined
}

function toOpenSession(row: Row & { readonly provider: string | null }, currentId: string | undefined): OpenSession {
  const { id, created_at, last_used_at, user_agent, address, method, provider } = row
  return {
    id,
    current: id === currentId,
    created_at,
    ...(last_used_at === null ? {} : { last_used_at }),
    ...(user_agent === null ? {} : { user_agent }),
    ...(address === null ? {} : { address }),
    ...(method === null ? {} : { method }),
    ...(provider === null ? {} : { provider }),
  }
}
