/** Retrieval. */
import { retrieve } from '../domain/search/search.ts'
import type { Handlers } from '../http/operations.ts'

export const searchRoutes: Pick<Handlers, 'searchNodes'> = {
  searchNodes: (deps, actor, { path, body }) => retrieve(deps, actor, path.org_id, body),
}
