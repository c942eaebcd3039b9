/** Retrieval, suggestions, and queries by property. */
import { listProperties, queryNodes } from '../domain/search/queries.ts'
import { searchNodes, suggestTitles } from '../domain/search/search.ts'
import type { Handlers } from '../http/contract/operations.ts'

export const searchRoutes = {
  searchNodes,
  suggestTitles,
  queryNodes,
  listProperties,
} satisfies Partial<Handlers>
