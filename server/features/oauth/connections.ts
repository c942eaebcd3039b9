/** Connections: what users have allowed programs to do. Each is a row, and ends when the row is deleted. */

import { v7 as newId } from 'uuid'
import { lockAccount } from '../../../index/credentials/accounts.ts'
import { deleteGrant } from '../../../index/credentials/oauth.ts'
import type { OauthGrant } from '../../../index/credentials/schema.ts'
import { AppError, invalid } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { requireSignedIn, requireVerifiedEmail } from '../../domain/access.ts'
import { hashOf, newToken } from '../../domain/accounts/tokens.ts'
import { type Access, includesAccess, type Person } from '../../domain/actor.ts'
import { audit } from '../../domain/audit/audit.ts'
import { authorizeFresh, authorizeFreshOrg } from '../../domain/indexing/freshness.ts'
import { queueNotice } from '../../domain/mail/notices.ts'
import type { Consent } from '../../domain/oauth/scopes.ts'
import { type Page, pageOf } from '../../domain/pagination.ts'
import type { Ctx, Services } from '../../domain/services.ts'
import type { Path, Query } from '../../domain/targets.ts'
import type { AuthorizeRequest } from './authorize-requests.ts'
import type { Client } from './clients.ts'
import { staleMs } from './metadata-documents.ts'
import {
  countGrants,
  deleteDeadGrants,
  deleteDeadGrantsOf,
  deleteExpiredAssertions,
  deleteExpiredCodes,
  deleteExpiredOauthTokens,
  deleteOldOauthClients,
  findIdlestGrant,
  findLastConnected,
  insertCode,
  insertGrant,
  listGrants,
} from './rows/connections.ts'

/** Milliseconds after which an unused connection makes room for a new one. */
const idleMs = 7 * 24 * 3_600_000
/** Milliseconds that a code is valid. */
const codeLifetimeMs = 60_000
/** Milliseconds for which a code is known, so that its second use is noticed. */
const codeKnownMs = 24 * 3_600_000

/** A connection, as its user sees it. */
interface MyConnection {
  readonly id: string
  readonly client_id: string
  readonly client_name: string
  readonly access: Access
  readonly resource: 'api' | 'mcp'
  readonly org_id?: string
  readonly node_id?: string
  readonly created_at: string
  /** At most a minute before the last use. Absent until the first use. */
  readonly last_used_at?: string
}

/**
 * Creates a connection. Returns the code that its program exchanges for tokens.
 *
 * @throws ValidationError node_id without org_id, access beyond the request
 * @throws AppError forbidden (the caller is not a session), email_unverified, org_not_found, node_not_found,
 *   too_many_connections, invalid_token (the session has just ended)
 */
export async function connect(ctx: Ctx<Person>, request: AuthorizeRequest, consent: Consent): Promise<string> {
  requireSession(ctx.actor)
  await requireVerifiedEmail(ctx)
  const { access, org_id, node_id } = consent
  if (!includesAccess(request.access, access)) throw invalid(['body', 'access'], 'The program has not asked for this')
  await requireReach(ctx, consent)
  const now = ctx.now()
  const grant: OauthGrant = {
    id: newId(),
    account_id: ctx.actor.id,
    client_id: request.client.id,
    client_name: request.client.name,
    access,
    org_id: org_id ?? null,
    node_id: node_id ?? null,
    resource: request.resource,
    method: request.client.method,
    created_at: now.toISOString(),
    last_used_at: null,
  }
  const code = newToken('code')
  await ctx.credentials.write(async (trx) => {
    await lockAccount(trx, ctx.actor.id)
    await requireSignedIn(trx, ctx.actor)
    await deleteDeadGrantsOf(trx, ctx.actor.id, grant.created_at)
    if ((await countGrants(trx, ctx.actor.id, grant.created_at)) >= limits.connectedPrograms) {
      const idlest = await findIdlestGrant(trx, ctx.actor.id)
      if (idlest === undefined || Date.parse(idlest.last_used_at ?? idlest.created_at) > now.getTime() - idleMs)
        throw new AppError(
          'too_many_connections',
          `You have ${limits.connectedPrograms} connections; end one that you no longer use`,
        )
      await deleteGrant(trx, idlest.id)
    }
    await insertGrant(trx, grant)
    const expires_at = new Date(now.getTime() + codeLifetimeMs).toISOString()
    const { redirectUri: redirect_uri, challenge } = request
    await insertCode(trx, {
      hash: hashOf(code),
      grant_id: grant.id,
      redirect_uri,
      challenge,
      expires_at,
      used_at: null,
    })
    await queueNotice(ctx, trx, 'connected', ctx.actor.id, { name: grant.client_name, access })
  })
  await connected(ctx, grant)
  return code
}

/** Runs once for each connection that a user has made. */
async function connected(ctx: Ctx<Person>, { id, client_id, access, org_id, node_id }: OauthGrant) {
  await audit(ctx, {
    action: 'connection.created',
    actor: ctx.actor,
    ...(org_id !== null && { orgId: org_id }),
    target: { type: 'connection', id },
    detail: { client_id: client_id.slice(0, 200), access, ...(node_id !== null && { node_id }) },
  })
}

/** Returns when the user last connected the program. Undefined: it is not connected. */
export function lastConnected(ctx: Ctx<Person>, client: Client): Promise<string | undefined> {
  return findLastConnected(ctx.credentials.read, ctx.actor.id, client.id)
}

/** Lists the caller's connections, newest first. */
export async function listMyConnections(ctx: Ctx<Person>, { query }: Query<Page>) {
  const { read } = ctx.credentials
  const now = ctx.now().toISOString()
  const rows = await listGrants(read, ctx.actor.id, now, query)
  return { connections: rows.map(toConnection), ...pageOf(query, await countGrants(read, ctx.actor.id, now)) }
}

/**
 * Ends a connection. Its tokens are refused from the next request, in every process.
 *
 * @throws AppError connection_not_found, also for another user's
 */
export async function endMyConnection(ctx: Ctx<Person>, { path }: Path<{ readonly grant_id: string }>): Promise<void> {
  const ended = await ctx.credentials.write((trx) => deleteGrant(trx, path.grant_id, ctx.actor.id))
  if (!ended) throw new AppError('connection_not_found', 'Connection not found')
  await audit(ctx, { action: 'connection.ended', actor: ctx.actor, target: { type: 'connection', id: path.grant_id } })
}

/** Deletes expired tokens, codes and assertions, and connections that no program can use. */
export async function forgetDeadConnections({ credentials, now }: Services): Promise<void> {
  const at = now()
  const codesUntil = new Date(at.getTime() - codeKnownMs).toISOString()
  await credentials.write(async (trx) => {
    await deleteDeadGrants(trx, at.toISOString())
    await deleteExpiredOauthTokens(trx, at.toISOString())
    await deleteExpiredCodes(trx, codesUntil)
    await deleteExpiredAssertions(trx, at.toISOString())
    await deleteOldOauthClients(trx, new Date(at.getTime() - staleMs).toISOString())
  })
}

/** @throws AppError forbidden: a token or another connection must not allow anything */
function requireSession({ sessionId }: Person): void {
  if (sessionId === undefined) throw new AppError('forbidden', 'Only a user who is signed in can connect a program')
}

/** @throws ValidationError; AppError org_not_found, node_not_found */
async function requireReach(ctx: Ctx<Person>, { org_id, node_id }: Consent): Promise<void> {
  if (org_id === undefined && node_id !== undefined)
    throw invalid(['body', 'node_id'], 'A connection for a node also needs its organisation')
  if (org_id === undefined) return
  if (node_id === undefined) await authorizeFreshOrg(ctx, { org_id: org_id }, 'public')
  else await authorizeFresh(ctx, { org_id: org_id, node_id: node_id }, 'public')
}

function toConnection(row: OauthGrant): MyConnection {
  const { id, client_id, client_name, access, resource, org_id, node_id, created_at, last_used_at } = row
  return {
    id,
    client_id,
    client_name,
    access,
    resource,
    ...(org_id === null ? {} : { org_id }),
    ...(node_id === null ? {} : { node_id }),
    created_at,
    ...(last_used_at === null ? {} : { last_used_at }),
  }
}
