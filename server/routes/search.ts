/** Retrieval. */
import { retrieve } from '../domain/search/search.ts'
import type { HandlersOf } from '../http/operations.ts'
import { orgAt } from './at.ts'

export const searchRoutes: HandlersOf<'searchNodes'> = {
  searchNodes: (deps, actor, { path, body }) => retrieve(deps, actor, orgAt(path), body),
}
