/** Types of nodes. */

import * as types from '../domain/search/typed-nodes.ts'
import type { HandlersOf } from '../http/contract/operations.ts'

export const typeRoutes: HandlersOf<
  'listTypes' | 'getType' | 'putType' | 'checkType' | 'deleteType' | 'listTypeProblems' | 'listTypeHistory'
> = {
  listTypes: (ctx, { path, query }) => types.listTypes(ctx, path, query),
  getType: (ctx, { path }) => types.readType(ctx, path),
  putType: (ctx, { path, body }) => types.putType(ctx, path, body),
  checkType: (ctx, { path, body }) => types.checkType(ctx, path, body),
  deleteType: (ctx, { path, query }) => types.deleteType(ctx, path, query),
  listTypeProblems: (ctx, { path, query }) => types.listTypeProblems(ctx, path, query),
  listTypeHistory: (ctx, { path, query }) => types.listTypeHistory(ctx, path, query),
}
