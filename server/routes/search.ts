/** Retrieval and suggestions. */
import { retrieve, suggest } from '../domain/search/search.ts'
import type { HandlersOf } from '../http/contract/operations.ts'
import { orgAt } from './path-params.ts'

export const searchRoutes: HandlersOf<'searchNodes' | 'suggestTitles'> = {
  searchNodes: (deps, actor, { path, body, from, signal }) =>
    retrieve(deps, { actor, from, signal }, orgAt(path), body),
  suggestTitles: (deps, actor, { path, query, from, signal }) =>
    suggest(deps, { actor, from, signal }, orgAt(path), { query: query.q, limit: query.limit }),
}
