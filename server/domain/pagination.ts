/** Pages of lists, with their totals. */

export interface Page {
  readonly limit: number
  readonly offset: number
}

export function pageOf({ limit, offset }: Page, total: number): { total: number; limit: number; offset: number } {
  return { total: Number(total), limit, offset }
}

/** Returns a page of a list in memory. */
export function slice<T>(items: readonly T[], { limit, offset }: Page): T[] {
  return items.slice(offset, offset + limit)
}

/** Parses a cursor of a list by time. The spec checks its form. */
export function timeAndId(cursor: string): { readonly time: string; readonly id: string } {
  const [time = '', id = ''] = cursor.split('~')
  return { time, id }
}
