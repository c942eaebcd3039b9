/** Content types: their definitions, the nodes that break them, and the forms of fields. */

import * as limits from '../../base/limits.ts'
import type { Handlers } from '../../http/contract/operations.ts'
import type { Feature } from '../feature.ts'
import { showFields, takeFields } from './pages/fields.tsx'
import { showType, takeType } from './pages/type-settings.tsx'
import { showTypeProblems, showTypeTable } from './pages/type-table.tsx'
import { typesPage } from './pages/types-settings.tsx'
import { checkType, deleteType, getType, listTypeHistory, listTypeProblems, listTypes, putType } from './types.ts'

const operations = {
  listTypes,
  getType,
  putType,
  checkType,
  deleteType,
  listTypeProblems,
  listTypeHistory,
} satisfies Partial<Handlers>

export const types = {
  operations,
  pages: [
    { at: '/o/{org}/settings/types', ...typesPage },
    { at: '/o/{org}/settings/types/new', show: showType, take: takeType },
    { at: '/o/{org}/settings/types/{type}', show: showType, take: takeType },
    { at: '/o/{org}/types/{type}', show: showTypeTable },
    { at: '/o/{org}/types/{type}/problems', show: showTypeProblems },
    { at: '/o/{org}/{node}/fields', show: showFields, take: takeFields, formBytes: limits.formTextBytes },
  ],
} satisfies Feature
