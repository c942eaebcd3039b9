/** How events come to a user, by the reasons of the inbox. */

/** `mail`: in the inbox and its mails. `inbox`: only in the inbox. `none`: not at all. */
type Channel = 'mail' | 'inbox' | 'none'

/** A reason that is absent comes by mail. */
export type Notifications = Readonly<Record<string, Channel>>

/** Parses what `mergeNotifications` wrote. */
export function parseNotifications(text: string | null | undefined): Notifications {
  return text == null ? {} : (JSON.parse(text) as Notifications)
}

/** Adds choices to those of an account. Returns null if all reasons come by mail. */
export function mergeNotifications(text: string | null, change: Notifications): string | null {
  const kept = Object.entries({ ...parseNotifications(text), ...change }).filter(([, channel]) => channel !== 'mail')
  return kept.length === 0 ? null : JSON.stringify(Object.fromEntries(kept))
}
