/** The unread items of the inbox. Each page of a signed-in user shows their number, and some read their items. */

import type { PageContext } from './page-context.ts'
import { unlessBusy } from './parts/degraded.ts'

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
