/** Types of nodes. */

import * as types from '../domain/search/typed-nodes.ts'
import type { HandlersOf } from '../http/contract/operations.ts'

export const typeRoutes: HandlersOf<
  'listTypes' | 'getType' | 'putType' | 'checkType' | 'deleteType' | 'listTypeProblems' | 'listTypeHistory'
> = {
  listTypes: (deps, actor, { path, query, from, signal }) =>
    types.listTypes(deps, { actor, from, signal }, path, query),
  getType: (deps, actor, { path, from, signal }) => types.readType(deps, { actor, from, signal }, path),
  putType: (deps, actor, { path, body, from, signal }) => types.putType(deps, { actor, from, signal }, path, body),
  checkType: (deps, actor, { path, body, from, signal }) => types.checkType(deps, { actor, from, signal }, path, body),
  deleteType: (deps, actor, { path, query, from, signal }) =>
    types.deleteType(deps, { actor, from, signal }, path, query),
  listTypeProblems: (deps, actor, { path, query, from, signal }) =>
    types.listTypeProblems(deps, { actor, from, signal }, path, query),
  listTypeHistory: (deps, actor, { path, query, from, signal }) =>
    types.listTypeHistory(deps, { actor, from, signal }, path, query),
}
