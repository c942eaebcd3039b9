/** Personal access tokens: scripts and `git` use them instead of a password. Each has a scope. */

import { v7 as newId } from 'uuid'
import {
  countAccessTokens,
  deleteAccessToken,
  deleteAccessTokens,
  findAccessToken,
  insertAccessToken,
  listAccessTokens,
  setAccessTokenUsed,
} from '../../../index/credentials/access-tokens.ts'
import { findActiveProfile, lockAccount } from '../../../index/credentials/accounts.ts'
import { deleteFeedToken } from '../../../index/credentials/feed-tokens.ts'
import { deleteGrants } from '../../../index/credentials/oauth.ts'
import type { Account, CredentialsDb, AccessToken as Row } from '../../../index/credentials/schema.ts'
import { AppError, invalid } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { requireSignedIn } from '../access.ts'
import type { Access, Person } from '../actor.ts'
import { audit } from '../audit/audit.ts'
import { authorizeFresh, authorizeFreshOrg } from '../indexing/freshness.ts'
import { type Page, pageOf } from '../pagination.ts'
import type { Ctx, Services } from '../services.ts'
import type { Body, Path, Query, TokenAt } from '../targets.ts'
import { recordLastUse } from './last-used.ts'
import { requireFresh } from './oidc/freshness.ts'
import { hashOf, isAccessToken, newAccessToken } from './tokens.ts'
import { personOf } from './user-view.ts'

/** The rights of a personal access token. They never exceed its user's. */
export interface TokenScope {
  readonly access: Access
  /** If set: nothing outside this organisation. */
  readonly orgId?: string
  /** If set: nothing outside this node of it. */
  readonly nodeId?: string
}

/** The user of a request, and the scope of their token. */
export interface Credential {
  readonly person: Person
  /** Absent for a session, which has all rights of its user. */
  readonly scope?: TokenScope
  /** When the token expires, in milliseconds since 1970. Absent: it does not, or only with its session. */
  readonly expiresAt?: number
}

export interface AccessToken extends Pick<Row, 'id' | 'name' | 'access' | 'hint' | 'created_at'> {
  readonly org_id?: string
  readonly node_id?: string
  readonly expires_at?: string
  /** At most a minute before the last use. Absent until the first use. */
  readonly last_used_at?: string
}

export interface NewAccessToken {
  readonly name: string
  readonly access: Access
  readonly org_id?: string
  /** Only with `org_id`. */
  readonly node_id?: string
  /** ISO 8601, in the future. Absent: the token does not expire. */
  readonly expires_at?: string
}

/**
 * Creates a token. Its secret, `token`, is shown only in this answer.
 *
 * @throws ValidationError node_id without org_id, expires_at in the past
 * @throws AppError org_not_found, node_not_found, too_many_tokens, invalid_token (the session has just ended, or the
 *   account is gone)
 */
export async function createToken(
  ctx: Ctx<Person>,
  { body: { name, access, org_id, node_id, expires_at } }: Body<NewAccessToken>,
): Promise<AccessToken & { readonly token: string }> {
  if (node_id !== undefined && org_id === undefined)
    throw invalid(['body', 'node_id'], 'A token for a node also needs its org_id')
  const now = ctx.now()
  const expiry = expires_at === undefined ? null : expiryOf(expires_at, now)
  if (org_id !== undefined) {
    if (node_id === undefined) await authorizeFreshOrg(ctx, { org_id: org_id }, 'public')
    else await authorizeFresh(ctx, { org_id: org_id, node_id: node_id }, 'public')
  }
  const { token, row } = newTokenRow(ctx.actor.id, { name, access, org_id, node_id, expiry, now })
  await ctx.credentials.write(async (trx) => {
    await lockAccount(trx, ctx.actor.id)
    // A reset revokes every token, so a session that it has ended must not create another.
    await requireSignedIn(trx, ctx.actor)
    if ((await countAccessTokens(trx, ctx.actor.id)) >= limits.tokens) {
      throw new AppError('too_many_tokens', `You have ${limits.tokens} tokens; revoke one that you no longer use`)
    }
    await insertAccessToken(trx, row)
  })
  await audit(ctx, {
    action: 'token.created',
    actor: ctx.actor,
    ...(org_id !== undefined && { orgId: org_id }),
    target: { type: 'token', id: row.id },
    detail: { access, ...(node_id !== undefined && { node_id }), ...(expiry !== null && { expires_at: expiry }) },
  })
  return { ...toAccessToken(row), token }
}

interface TokenFields {
  readonly name: string
  readonly access: Access
  readonly org_id: string | undefined
  readonly node_id: string | undefined
  readonly expiry: string | null
  readonly now: Date
}

/** Returns a new secret, and its row. */
export function newTokenRow(
  accountId: string,
  { name, access, org_id, node_id, expiry, now }: TokenFields,
): { readonly token: string; readonly row: Row } {
  const token = newAccessToken()
  const row = {
    id: newId(),
    hash: hashOf(token),
    account_id: accountId,
    name,
    access,
    org_id: org_id ?? null,
    node_id: node_id ?? null,
    hint: token.slice(-4),
    created_at: now.toISOString(),
    expires_at: expiry,
    last_used_at: null,
  }
  return { token, row }
}

/** Lists the caller's tokens, oldest first. */
export function listTokens(ctx: Ctx<Person>, { query }: Query<Page>) {
  return listTokensOf(ctx, ctx.actor.id, query)
}

/** Lists the tokens of an account, oldest first. */
export async function listTokensOf({ credentials: { read } }: Services, accountId: string, page: Page) {
  const rows = await listAccessTokens(read, accountId, page)
  return { tokens: rows.map(toAccessToken), ...pageOf(page, await countAccessTokens(read, accountId)) }
}

/**
 * Revokes a token, from the next request in every process.
 *
 * @throws AppError token_not_found, also for another user's
 */
export async function revokeToken(ctx: Ctx<Person>, { path: { token_id: tokenId } }: Path<TokenAt>): Promise<void> {
  const deleted = await ctx.credentials.write((trx) => deleteAccessToken(trx, ctx.actor.id, tokenId))
  if (!deleted) throw new AppError('token_not_found', 'Token not found')
  await audit(ctx, { action: 'token.revoked', actor: ctx.actor, target: { type: 'token', id: tokenId } })
}

/**
 * Returns the token's user and scope. Undefined: it is unknown, revoked, expired, or not a personal access token. Reads
 * the database each time, two rows by key, so that a revocation takes effect at once.
 *
 * @throws AppError sign_in_required
 */
export async function authenticateToken(deps: Services, secret: string): Promise<Credential | undefined> {
  if (!isAccessToken(secret)) return undefined
  const row = await findAccessToken(deps.credentials.read, hashOf(secret))
  const now = deps.now()
  if (row === undefined || (row.expires_at !== null && Date.parse(row.expires_at) <= now.getTime())) return undefined
  const profile = await findActiveProfile(deps.credentials.read, row.account_id)
  if (profile === undefined || !isTokenFor(profile, row)) return undefined
  await requireFresh(deps, profile)
  recordLastUse(deps, profile, { id: row.id, usedAt: row.last_used_at, write: setAccessTokenUsed })
  const { access, org_id, node_id } = row
  const person = { ...personOf(profile), tokenId: row.id, access, ...(node_id === null ? {} : { onlyNode: node_id }) }
  const bounds = { ...(org_id === null ? {} : { orgId: org_id }), ...(node_id === null ? {} : { nodeId: node_id }) }
  const expiry = row.expires_at === null ? {} : { expiresAt: Date.parse(row.expires_at) }
  return { person, scope: { access, ...bounds }, ...expiry }
}

/** True unless it is a bot's token for anything but its own organisation. */
function isTokenFor({ kind, owner_org_id }: Pick<Account, 'kind' | 'owner_org_id'>, { org_id }: Row): boolean {
  return kind === 'person' || (org_id !== null && org_id === owner_org_id)
}

/** Ends the tokens, connections and inbox feed of an account. They act for it without a session. */
export async function endTokens(trx: CredentialsDb, accountId: string): Promise<void> {
  await deleteAccessTokens(trx, accountId)
  await deleteGrants(trx, accountId)
  await deleteFeedToken(trx, accountId)
}

/** True if the token covers the organisation and node of a request. Undefined: the request names none. */
export function isWithin(scope: TokenScope, orgId: string | undefined, nodeId: string | undefined): boolean {
  if (scope.orgId !== undefined && scope.orgId !== orgId) return false
  return scope.nodeId === undefined || scope.nodeId === nodeId
}

/** Returns the time at which a token expires. @throws ValidationError if it has passed */
export function expiryOf(text: string, now: Date): string {
  const time = new Date(text)
  if (!(time > now)) throw invalid(['body', 'expires_at'], 'A token must expire in the future', text)
  return time.toISOString()
}

export function toAccessToken(row: Row): AccessToken {
  const { id, name, access, hint, created_at, org_id, node_id, expires_at, last_used_at } = row
  return {
    id,
    name,
    access,
    hint,
    created_at,
    ...(org_id === null ? {} : { org_id }),
    ...(node_id === null ? {} : { node_id }),
    ...(expires_at === null ? {} : { expires_at }),
    ...(last_used_at === null ? {} : { last_used_at }),
  }
}
