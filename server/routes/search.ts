/** Retrieval and suggestions. */
import { retrieve, suggest } from '../domain/search/search.ts'
import type { HandlersOf } from '../http/operations.ts'
import { orgAt } from './at.ts'

export const searchRoutes: HandlersOf<'searchNodes' | 'suggestTitles'> = {
  searchNodes: (deps, actor, { path, body, signal }) => retrieve(deps, { actor, signal }, orgAt(path), body),
  suggestTitles: (deps, actor, { path, query }) =>
    suggest(deps, actor, orgAt(path), { query: query.q, limit: query.limit }),
}
