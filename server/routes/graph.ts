/** The public graph. */
import { openPublicGraph } from '../domain/graph/graph.ts'
import type { PublicGraph } from '../domain/graph/graph-drawing.ts'
import type { Handlers } from '../http/operations.ts'
import { Packed } from '../http/responses.ts'

export const graphRoutes: Pick<Handlers, 'getPublicGraph'> = {
  getPublicGraph: async (deps, _actor, { path }) => {
    const { version, read } = await openPublicGraph(deps, path.org_id)
    return new Packed<PublicGraph>(version, read)
  },
}
