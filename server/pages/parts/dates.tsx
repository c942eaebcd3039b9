/** Times and numbers in readable form. */

export { plural } from '../../base/plural.ts'

const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' })

/** Shows a date. `time`: ISO 8601. */
export function When({ time }: { readonly time: string }) {
  return <time datetime={time}>{dayOf(time)}</time>
}

export function dayOf(time: string): string {
  return day.format(new Date(time))
}
