/** The public graph. */
import { readPublicGraph } from '../domain/graph.ts'
import type { Handlers } from '../http/operations.ts'

export const graphRoutes: Pick<Handlers, 'getPublicGraph'> = {
  getPublicGraph: (deps, _actor, { path }) => readPublicGraph(deps, path.org_id),
}
