/** Limits of single organisations, which administrators set. */
import { findLimit, putLimit } from '../../../index/credentials/limits.ts'
import { orgNotFoundError } from '../access.ts'
import { type Administrator, requireAdministrator } from '../accounts/administration.ts'
import { audit } from '../audit/audit.ts'
import { findOrg } from '../indexing/freshness.ts'
import { type OrgUsage, readLimits, readOrgUsage } from '../quotas.ts'
import type { Ctx } from '../services.ts'
import type { Body, OrgAt, Path } from '../targets.ts'

export interface LimitChange {
  /** Null: the configured limit. 0: no limit. Absent: as it is. */
  readonly max_nodes?: number | null
  readonly max_bytes?: number | null
}

/**
 * Sets limits of an organisation. They hold at once in this process, and in others within ten seconds.
 *
 * @throws AppError forbidden, org_not_found
 */
export async function updateOrgLimits(
  ctx: Ctx<Administrator>,
  { path: { org_id: orgId }, body }: Path<OrgAt> & Body<LimitChange>,
): Promise<OrgUsage> {
  requireAdministrator(ctx.actor)
  if ((await findOrg(ctx, orgId)) === undefined) throw orgNotFoundError()
  await ctx.credentials.write(async (trx) => {
    const { max_nodes = null, max_bytes = null } = (await findLimit(trx, orgId)) ?? {}
    await putLimit(trx, { org_id: orgId, max_nodes, max_bytes, ...body })
  })
  await audit(ctx, {
    action: 'org.limited',
    actor: ctx.actor,
    orgId,
    target: { type: 'org', id: orgId },
    detail: { ...body },
  })
  await readLimits(ctx, orgId)
  return readOrgUsage(ctx, orgId)
}
