/** Clones, fetches and refusals of git clients in the audit. Each user and node has one row an hour. */

import { AppError } from '../../base/errors.ts'
import type { Actor } from '../actor.ts'
import { findOrg } from '../indexing/freshness.ts'
import { isId } from '../layout.ts'
import type { Origin } from '../origin.ts'
import type { Ctx, Services } from '../services.ts'
import type { RepositoryAt } from '../targets.ts'
import { type AuditEntry, auditRepeat } from './audit.ts'

/** The name of the organisation's own repository, among those of its nodes. */
const orgName = 'org'

/**
 * Records that objects are sent, before they are. Anonymous callers of a node are one row without an IP address.
 *
 * @returns a function that adds the bytes that were sent
 */
export async function auditFetch(ctx: Ctx, at: RepositoryAt): Promise<(bytes: number) => Promise<void>> {
  if (!isAudited(ctx, at)) return async () => {}
  const { origin } = ctx
  const seen =
    ctx.actor.kind === 'person' || !origin ? ctx : { ...ctx, origin: { ...withoutClient(origin), address: '' } }
  const repeat = { per: 'hour', key: keyOf(ctx.actor, at), beganMs: ctx.now().getTime() } as const
  await auditRepeat(seen, entryOf(ctx.actor, at), repeat)
  return (bytes) => auditRepeat(seen, entryOf(ctx.actor, at), { ...repeat, bytes, count: 0 })
}

function withoutClient({ door, requestId }: Origin): Pick<Origin, 'door' | 'requestId'> {
  return { door, requestId }
}

function isAudited({ config }: Services, { name }: RepositoryAt): boolean {
  return config.auditFetches !== false || name === orgName
}

function entryOf(actor: Actor, { org_id: orgId, name }: RepositoryAt): AuditEntry {
  if (name === orgName) return { action: 'org.cloned', actor, orgId, target: { type: 'org', id: orgId } }
  return { action: 'git.fetched', actor, orgId, nodeId: name }
}

/**
 * Records that a signed-in user was refused, or refs of their push. Refusals of anonymous callers are not recorded: each
 * client of a private node begins with one.
 *
 * @param reasons of refused refs; or the error that ended the request
 */
export async function auditGitRefusal(
  ctx: Ctx,
  at: RepositoryAt,
  { service, refused }: { readonly service: string; readonly refused: unknown },
): Promise<void> {
  if (ctx.actor.kind === 'anonymous') return
  const code = codeOf(refused)
  if (code === undefined) return
  // An unknown organisation or node must not fill the table.
  const orgId = (await findOrg(ctx, at.org_id).catch(() => undefined))?.id
  const isNode = orgId !== undefined && code !== 'node_not_found' && isId(at.name)
  await auditRepeat(
    ctx,
    {
      action: 'git.refused',
      actor: ctx.actor,
      outcome: 'refused',
      ...(orgId !== undefined && { orgId }),
      ...(isNode && { nodeId: at.name }),
      detail: { service, code },
    },
    { per: 'hour', key: `${ctx.actor.id} ${orgId ?? ''} ${isNode ? at.name : ''} ${service} ${code}` },
  )
}

function codeOf(refused: unknown): string | undefined {
  if (Array.isArray(refused)) return 'ref_refused'
  const codes = ['forbidden', 'token_scope', 'org_not_found', 'node_not_found']
  return refused instanceof AppError && codes.includes(refused.code) ? refused.code : undefined
}

function keyOf(actor: Actor, { org_id: orgId, name }: RepositoryAt): string {
  return `${actor.kind === 'person' ? actor.id : 'anonymous'} ${orgId} ${name}`
}
