/** The part of an organisation that a query for callers reads. */

const made = Symbol('sees')

/** Today it is the whole organisation. Only this file makes one. */
export interface Sees {
  readonly orgId: string
  readonly nodes: 'all'
  /** No other file has the key, so an object literal there has another type. */
  readonly [made]: true
}

/** For work of the service itself: indexing, exports by the operator, background jobs. */
export function wholeOrg(orgId: string): Sees {
  return { orgId, nodes: 'all', [made]: true }
}
