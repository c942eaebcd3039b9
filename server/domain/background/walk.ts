/**
 * A walk through all repositories in steps, in the order of their paths.
 *
 * The index has its position, so that a service that is often restarted also reaches the last ones. With a rebuilt
 * index, it begins at the first.
 */
import { beginning, findWalkPlace, saveWalkPlace, type WalkPlace } from '../../../index/derived/walk-places.ts'
import { listNodes, listOrgs } from '../indexing/stored-repositories.ts'
import type { Services } from '../services.ts'

/** Repositories per step, from as many organisations as necessary. */
export const repositoriesAtOnce = 100

/** Some nodes of one organisation that have a repository or a row. */
interface Stretch {
  readonly orgId: string
  /** The first stretch of the organisation, which includes its own repository. */
  readonly isFirst: boolean
  readonly nodeIds: readonly string[]
}

export interface Walk {
  /**
   * Visits the next repositories. If `visit` returns false, the other nodes of the organisation are skipped.
   *
   * @returns true if the walk is at its end; the next step begins a new one
   */
  step(deps: Services, visit: (stretch: Stretch) => Promise<boolean>): Promise<boolean>
}

/** Creates the walk of a background job. */
export function createWalk(chore: string): Walk {
  let place: WalkPlace | undefined
  // Organisations that are still to be visited, in reverse order. Undefined: not listed yet.
  let orgs: string[] | undefined
  // Nodes of the current organisation that are still to be visited, in reverse order.
  let nodes: string[] = []

  async function step(deps: Services, visit: (stretch: Stretch) => Promise<boolean>): Promise<boolean> {
    try {
      return await stepOn(deps, visit)
    } catch (error) {
      // The next step begins where this one began.
      orgs = undefined
      throw error
    }
  }

  async function stepOn(deps: Services, visit: (stretch: Stretch) => Promise<boolean>): Promise<boolean> {
    const started = place ?? (await findWalkPlace(deps.index.read, chore))
    let at = started
    if (orgs === undefined) {
      orgs = (await listOrgs(deps)).filter((org) => org >= at.orgId).reverse()
      nodes = []
      if (orgs.at(-1) === at.orgId) {
        orgs.pop()
        nodes = (await listNodes(deps, at.orgId)).filter((node) => node > at.nodeId).reverse()
      }
    }
    for (let left = repositoriesAtOnce; left > 0 && !deps.draining.aborted; ) {
      const isFirst = nodes.length === 0
      const orgId: string | undefined = isFirst ? orgs.pop() : at.orgId
      if (orgId === undefined) {
        orgs = undefined
        at = beginning
        break
      }
      if (isFirst) nodes = (await listNodes(deps, orgId)).reverse()
      const nodeIds = nodes.splice(-Math.max(left - Number(isFirst), 1)).reverse()
      if (!(await visit({ orgId, isFirst, nodeIds }))) nodes = []
      at = { orgId, nodeId: nodeIds.at(-1) ?? '' }
      left -= nodeIds.length + Number(isFirst)
    }
    if (at.orgId !== started.orgId || at.nodeId !== started.nodeId)
      await deps.index.write((trx) => saveWalkPlace(trx, chore, at))
    place = at
    return orgs === undefined
  }
  return { step }
}
