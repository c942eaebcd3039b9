/** Uses of personal access tokens and connections in the audit. */
import { AppError } from '../../base/errors.ts'
import type { Actor, Person } from '../actor.ts'
import { type AuditDeps, auditRepeat } from './audit.ts'

/** The token or the connection of the request. Undefined: it is a session. */
function usedBy({ tokenId, connection }: Person) {
  if (connection !== undefined) return { type: 'connection', id: connection.id } as const
  return tokenId === undefined ? undefined : ({ type: 'token', id: tokenId } as const)
}

/**
 * Records the first use of a credential in a day from an IP address. Further ones cost a look into memory.
 */
export async function auditFirstUse(deps: AuditDeps, actor: Person): Promise<void> {
  const target = usedBy(actor)
  if (target === undefined) return
  await auditRepeat(
    deps,
    { action: `${target.type}.first_used`, actor, target },
    { per: 'day', key: `${target.id} ${deps.origin?.address ?? ''}`, isOnce: true },
  )
}

/** The use of a token that was refused. */
interface Excess {
  readonly operation: string
  /** The organisation in the path. */
  readonly orgId: string | undefined
}

/** Counts refusals of a token or a connection outside its scope. */
export async function auditTokenRefusal(deps: AuditDeps, actor: Person, { operation, orgId }: Excess): Promise<void> {
  const target = usedBy(actor)
  if (target === undefined) return
  await auditRepeat(
    deps,
    {
      action: `${target.type}.refused`,
      actor,
      outcome: 'refused',
      target,
      // The organisation may not exist, or not be the user's: it is a fact of the request, and not listed there.
      detail: { operation, code: 'token_scope', ...(orgId !== undefined && { path_org_id: orgId.slice(0, 36) }) },
    },
    { per: 'hour', key: `${target.id} ${operation} ${deps.origin?.address ?? ''}` },
  )
}

/** Runs an operation. If it refuses a token, such as one that may only propose, that is counted. @throws its errors */
export async function auditingScope<T>(
  deps: AuditDeps,
  actor: Actor,
  excess: Excess,
  run: () => T,
): Promise<Awaited<T>> {
  try {
    return await run()
  } catch (error) {
    const isExcess = error instanceof AppError && error.code === 'token_scope'
    if (isExcess && actor.kind === 'person') await auditTokenRefusal(deps, actor, excess)
    throw error
  }
}
