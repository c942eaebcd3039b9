/** Retrieval, suggestions, and queries by property. */
import { listProperties, queryNodes } from '../domain/search/queries.ts'
import { retrieve, suggest } from '../domain/search/search.ts'
import type { HandlersOf } from '../http/contract/operations.ts'

export const searchRoutes: HandlersOf<'searchNodes' | 'suggestTitles' | 'queryNodes' | 'listProperties'> = {
  searchNodes: (ctx, { path, body }) => retrieve(ctx, path, body),
  suggestTitles: (ctx, { path, query }) => suggest(ctx, path, { query: query.q, limit: query.limit }),
  queryNodes: (ctx, { path, body }) => queryNodes(ctx, path, body),
  listProperties: (ctx, { path, query }) => listProperties(ctx, path, query),
}
