/** The graph, for anonymous callers and for members. */
import { getGraph, getPublicGraph, openMap } from '../domain/graph/graph.ts'
import type { PublicGraph } from '../domain/graph/graph-drawing.ts'
import type { GraphMap } from '../domain/graph/map-drawing.ts'
import type { Handlers } from '../http/contract/operations.ts'
import { Gzipped } from '../http/responses/responses.ts'

export const graphRoutes = {
  getPublicGraph: async (ctx, { path }) => {
    const { version, read } = await getPublicGraph(ctx, { path })
    return new Gzipped<PublicGraph>(version, read, { isPublic: true })
  },
  getGraph: async (ctx, { path }) => {
    const { version, read } = await getGraph(ctx, { path })
    return new Gzipped<PublicGraph>(version, read, { isPublic: false })
  },
  getMap: async (ctx, { path, query }) => {
    const { version, read } = await openMap(ctx, { path, query })
    return new Gzipped<GraphMap>(version, read, { isPublic: false })
  },
} satisfies Partial<Handlers>
