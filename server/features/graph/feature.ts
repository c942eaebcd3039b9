/** The graph, for anonymous callers and for members. */

import type { Handlers } from '../../http/contract/operations.ts'
import { Gzipped } from '../../http/responses/responses.ts'
import type { Feature } from '../feature.ts'
import { getGraph, getPublicGraph, openMap } from './graph.ts'
import type { PublicGraph } from './graph-drawing.ts'
import type { GraphMap } from './map-drawing.ts'
import { showGraph } from './pages/graph.tsx'

const operations = {
  getPublicGraph: async (ctx, { path }) => {
    const { version, read } = await getPublicGraph(ctx, { path })
    return new Gzipped<PublicGraph>(version, read, { isPublic: true })
  },
  getGraph: async (ctx, { path, query }) => {
    const { version, read } = await getGraph(ctx, { path, query })
    return new Gzipped<PublicGraph>(version, read, { isPublic: false })
  },
  getMap: async (ctx, { path, query }) => {
    const { version, read } = await openMap(ctx, { path, query })
    return new Gzipped<GraphMap>(version, read, { isPublic: false })
  },
} satisfies Partial<Handlers>

export const graph = {
  operations,
  pages: [{ at: '/o/{org}/graph', show: showGraph }],
} satisfies Feature
