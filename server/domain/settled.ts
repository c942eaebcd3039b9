/** The rows that an operation's door has read. */
import type { NodeRow } from '../../index/derived/node-queries.ts'
import type { OrgRow } from '../../index/derived/org-queries.ts'
import type { Role } from '../../index/derived/schema.ts'
import type { Actor } from './actor.ts'

/** An organisation and the caller's role in it, as one statement read them. */
export interface SeenOrg {
  readonly org: OrgRow
  /** Null: not a member. */
  readonly role: Role | null
}

/** A node's row. If storage failed while indexing, it is the last indexed one, for reads only. */
export interface SettledNode {
  readonly row: NodeRow | undefined
  readonly failure?: unknown
}

/**
 * The rows that an operation's door has read. The first authorisation takes them. Each further one reads rows again,
 * because rights may have changed in the meantime.
 */
export interface Settled {
  takeOrg(actor: Actor, orgId: string): SeenOrg | undefined
  takeNode(nodeId: string): SettledNode | undefined
  /** True if the operation finds this node also if it is only proposed. */
  seesProposed(nodeId: string): boolean
}
