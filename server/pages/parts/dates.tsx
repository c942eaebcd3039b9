/** Times and numbers in readable form. A script shows times in the reader's zone: `client/times.ts`. */

export { plural } from '../../base/plural.ts'

const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' })
const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', timeZone: 'UTC' })

interface WhenProps {
  /** ISO 8601. */
  readonly time: string
  /**
   * `ago`: with script, how long ago it was, for a week. `on`: the same within a sentence, in which a date is "on 1 May
   * 2026". `day`: always the date. `clock`: the time of day.
   */
  readonly as?: 'ago' | 'on' | 'day' | 'clock'
}

/** Shows a time. Its title is the exact time. */
export function When({ time, as = 'ago' }: WhenProps) {
  const [onDay, atClock] = [dayOf(time), `${clockOf(time)} UTC`]
  return (
    <time datetime={time} title={`${onDay}, ${atClock}`} data-as={as}>
      {as === 'clock' ? atClock : `${as === 'on' ? 'on ' : ''}${onDay}`}
    </time>
  )
}

export function dayOf(time: string): string {
  return day.format(new Date(time))
}

function clockOf(time: string): string {
  return clock.format(new Date(time))
}

/** Groups items of a list in the order of time by day. */
export function byDay<Item>(items: readonly Item[], timeOf: (item: Item) => string): [string, Item[]][] {
  const days: [string, Item[]][] = []
  for (const item of items) {
    const day = dayOf(timeOf(item))
    const last = days.at(-1)
    if (last?.[0] === day) last[1].push(item)
    else days.push([day, [item]])
  }
  return days
}
