/** Retrieval, suggestions, and queries by property. */
import { listProperties, queryNodes } from '../domain/search/queries.ts'
import { retrieve, suggest } from '../domain/search/search.ts'
import type { HandlersOf } from '../http/contract/operations.ts'

export const searchRoutes: HandlersOf<'searchNodes' | 'suggestTitles' | 'queryNodes' | 'listProperties'> = {
  searchNodes: (deps, actor, { path, body, from, signal }) => retrieve(deps, { actor, from, signal }, path, body),
  suggestTitles: (deps, actor, { path, query, from, signal }) =>
    suggest(deps, { actor, from, signal }, path, { query: query.q, limit: query.limit }),
  queryNodes: (deps, actor, { path, body, from, signal }) => queryNodes(deps, { actor, from, signal }, path, body),
  listProperties: (deps, actor, { path, query, from, signal }) =>
    listProperties(deps, { actor, from, signal }, path, query),
}
