/** The view of the table of pages in its address: filter, sort, columns and page. */

import { columnText, readColumns, type TableColumn } from '../text/property-names.ts'
import type { Urls } from '../urls.ts'

/** `columns` after the title; `where`: UTF-16 units of a filter, as in the API. */
const most = { columns: 30, where: 2_000, page: 100_000 } as const

export interface TableView {
  /** The name of the type whose nodes the table has. Undefined: all pages. */
  readonly type?: string | undefined
  /** The filter as it was typed; empty: all pages. */
  readonly where: string
  /** The sort; empty: the oldest first. */
  readonly sort: string
  /** The columns after the title. Undefined: the usual ones. */
  readonly columns: readonly TableColumn[] | undefined
  /** Counted from 1. */
  readonly page: number
}

/** Reads the view from the address. Checkboxes send `columns` once for each column. */
export function viewIn(query: URLSearchParams, type?: string): TableView {
  const page = query.get('page') ?? ''
  const columns = query.getAll('columns').join(',')
  return {
    type,
    where: (query.get('where') ?? '').trim(),
    sort: (query.get('sort') ?? '').trim(),
    columns: columns === '' ? undefined : readColumns(columns).filter(isNoTitle).slice(0, most.columns),
    page: /^[1-9]\d{0,5}$/.test(page) ? Math.min(Number(page), most.page) : 1,
  }
}

/** Returns the address of a view. Another filter or sort begins at the first page. */
export function viewUrl(urls: Urls, org: string, { type, where, sort, columns, page }: TableView): string {
  const query = {
    ...(where !== '' && { where }),
    ...(sort !== '' && { sort }),
    ...(columns !== undefined && { columns: columnsText(columns) }),
    ...(page > 1 && { page: String(page) }),
  }
  return urls.table(org, query, type)
}

/** Returns the columns with the title, as the API and the address have them. */
export function columnsText(columns: readonly TableColumn[]): string {
  return [{ field: 'title' } as const, ...columns].map(columnText).join(',')
}

export const longestFilter = most.where

function isNoTitle(column: TableColumn): boolean {
  return !('field' in column && column.field === 'title')
}
