/** Types of nodes. */

import {
  checkType,
  deleteType,
  getType,
  listTypeHistory,
  listTypeProblems,
  listTypes,
  putType,
} from '../domain/search/typed-nodes.ts'
import type { Handlers } from '../http/contract/operations.ts'

export const typeRoutes = {
  listTypes,
  getType,
  putType,
  checkType,
  deleteType,
  listTypeProblems,
  listTypeHistory,
} satisfies Partial<Handlers>
