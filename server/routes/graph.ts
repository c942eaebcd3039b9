/** The public graph. */
import { openPublicGraph } from '../domain/graph/graph.ts'
import type { PublicGraph } from '../domain/graph/graph-drawing.ts'
import type { HandlersOf } from '../http/operations.ts'
import { Gzipped } from '../http/responses.ts'
import { orgAt } from './at.ts'

export const graphRoutes: HandlersOf<'getPublicGraph'> = {
  getPublicGraph: async (deps, _actor, { path }) => {
    const { version, read } = await openPublicGraph(deps, orgAt(path))
    return new Gzipped<PublicGraph>(version, read)
  },
}
