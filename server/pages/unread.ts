/** The unread items of the inbox. Each page of a signed-in user shows their number, and some read their items. */

import { AppError } from '../base/errors.ts'
import type { PageContext } from './page-context.ts'
import { unlessBusy } from './parts/degraded.ts'

type Item = NonNullable<PageContext['unread']>['items'][number]

/** Milliseconds that a page waits for the number. */
const longestMs = 1_000

/** Reads what is unread. Undefined: unknown. A page needs nothing else of the log, and is shown without it. */
export function readUnread({ api }: Pick<PageContext, 'api'>, failed: (error: unknown) => void) {
  return unlessBusy<PageContext['unread']>(api.listUnread(), undefined, ['unauthenticated'], longestMs).catch(
    (error) => {
      failed(error)
      return undefined
    },
  )
}

/**
 * Marks the items about the path of the page as read. Returns the others.
 *
 * The path names an organisation, a node, a pull request or a change set. Later events than those of `readUnread` stay unread.
 */
export async function markOpened({ api, params, unread }: PageContext): Promise<PageContext['unread']> {
  const { org = '', number } = params
  const node = params.node ?? (number === undefined ? undefined : org)
  const isAbout = (item: Item) =>
    item.org_id === org && item.node_id === node && item.number === (number === undefined ? undefined : Number(number))
  const opened = unread?.items.filter(isAbout) ?? []
  if (unread === undefined || opened.length === 0) return unread
  const items = unread.items.filter((item) => !isAbout(item))
  // The mark of the organisation moves on, so that few items need their own.
  const isLast = !unread.more && !items.some((item) => item.org_id === org)
  const body = isLast ? { cursor: unread.now } : { items: opened.map(({ id }) => id) }
  try {
    await api.putOrgInboxMark({ path: { org_id: org }, body })
  } catch (error) {
    // If the disk is full, they stay unread.
    if (error instanceof AppError) return unread
    throw error
  }
  return { ...unread, items }
}
