/** Uses of personal access tokens in the audit. */
import type { Person } from '../actor.ts'
import { type AuditDeps, auditRepeat } from './audit.ts'

/** Records the first use of a token in a day from an IP address. Further ones cost a look into memory. */
export async function auditFirstUse(deps: AuditDeps, actor: Person): Promise<void> {
  const { tokenId } = actor
  if (tokenId === undefined) return
  await auditRepeat(
    deps,
    { action: 'token.first_used', actor, target: { type: 'token', id: tokenId } },
    { per: 'day', key: `${tokenId} ${deps.origin?.address ?? ''}`, isOnce: true },
  )
}

/** The use of a token that was refused. */
interface Excess {
  readonly operation: string
  /** The organisation in the path. */
  readonly orgId: string | undefined
}

/** Counts refusals of a token outside its scope. */
export async function auditTokenRefusal(deps: AuditDeps, actor: Person, { operation, orgId }: Excess): Promise<void> {
  const { tokenId } = actor
  if (tokenId === undefined) return
  await auditRepeat(
    deps,
    {
      action: 'token.refused',
      actor,
      outcome: 'refused',
      target: { type: 'token', id: tokenId },
      // The organisation may not exist, or not be the user's: it is a fact of the request, and not listed there.
      detail: { operation, code: 'token_scope', ...(orgId !== undefined && { path_org_id: orgId.slice(0, 36) }) },
    },
    { per: 'hour', key: `${tokenId} ${operation} ${deps.origin?.address ?? ''}` },
  )
}
