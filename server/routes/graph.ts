/** The public graph. */
import { readPublicGraph } from '../domain/graph.ts'
import type { HandlersOf } from '../http/operations.ts'

export const graphRoutes: HandlersOf<'getPublicGraph'> = {
  getPublicGraph: (deps, _actor, { path }) => readPublicGraph(deps, path.org_id),
}
