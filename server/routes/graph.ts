/** The graph, for anonymous callers and for members. */
import { openGraph, openMap, openPublicGraph } from '../domain/graph/graph.ts'
import type { PublicGraph } from '../domain/graph/graph-drawing.ts'
import type { GraphMap } from '../domain/graph/map-drawing.ts'
import type { HandlersOf } from '../http/contract/operations.ts'
import { Gzipped } from '../http/responses/responses.ts'

export const graphRoutes: HandlersOf<'getPublicGraph' | 'getGraph' | 'getMap'> = {
  getPublicGraph: async (ctx, { path }) => {
    const { version, read } = await openPublicGraph(ctx, path)
    return new Gzipped<PublicGraph>(version, read, { isPublic: true })
  },
  getGraph: async (ctx, { path }) => {
    const { version, read } = await openGraph(ctx, path)
    return new Gzipped<PublicGraph>(version, read, { isPublic: false })
  },
  getMap: async (ctx, { path, query: { under, columns } }) => {
    const part = { columns: columns ?? true, ...(under !== undefined && { under }) }
    const { version, read } = await openMap(ctx, path, part)
    return new Gzipped<GraphMap>(version, read, { isPublic: false })
  },
}
