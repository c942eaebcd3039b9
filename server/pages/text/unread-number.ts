/** The number of unread items in words. The script of every page uses it too. */

interface Unread {
  readonly items: readonly unknown[]
  /** True if there may be more items. */
  readonly more: boolean
}

/** The largest number that is shown. */
const mostShown = 99

/** Returns the number, such as `3` or `99+`. Empty: nothing is unread, or that is unknown. */
export function unreadNumber(unread: Unread | undefined): string {
  const shown = Math.min(unread?.items.length ?? 0, mostShown)
  if (unread === undefined || shown === 0) return ''
  return unread.more || unread.items.length > shown ? `${shown}+` : `${shown}`
}

/** Returns the label of the link to the inbox. */
export function inboxLabel(number: string): string {
  return number === '' ? 'Inbox' : `Inbox: ${number} unread`
}

/** Puts the number before the title of a page. Replaces an earlier one. */
export function numbered(title: string, number: string, earlier = ''): string {
  const before = earlier === '' ? '' : `(${earlier}) `
  const plain = title.startsWith(before) ? title.slice(before.length) : title
  return number === '' ? plain : `(${number}) ${plain}`
}
