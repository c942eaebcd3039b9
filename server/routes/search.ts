/** Retrieval. */
import { retrieve } from '../domain/search.ts'
import type { HandlersOf } from '../http/operations.ts'

export const searchRoutes: HandlersOf<'retrieve'> = {
  retrieve: (deps, actor, { path, body }) => retrieve(deps, actor, path.org_id, body),
}
