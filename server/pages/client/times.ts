/** Shows times in the reader's zone. Recent ones are "2 hours ago", with the exact time as their title. */

const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })
const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const exact = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'long' })
const relative = new Intl.RelativeTimeFormat('en-GB', { numeric: 'auto' })

/** Milliseconds. */
const minute = 60_000
const hour = 60 * minute
const oneDay = 24 * hour
/** Days for which a time is shown as a distance. */
const recentDays = 7

// The browser runs this before it paints, so that nothing moves.
for (const days of document.querySelectorAll('[data-days]')) groupByDay(days)
showAll()
setInterval(showAll, minute)
document.addEventListener('visibilitychange', showAll)

function showAll(): void {
  if (document.hidden) return
  for (const element of document.querySelectorAll<HTMLTimeElement>('time[data-as]')) {
    const time = new Date(element.dateTime)
    const text = textOf(time, element.dataset.as)
    if (element.textContent !== text) element.textContent = text
    element.title = exact.format(time)
  }
}

function textOf(time: Date, as: string | undefined): string {
  if (as === 'clock') return clock.format(time)
  return (as === 'day' ? undefined : distanceOf(time, new Date())) ?? (as === 'on' ? 'on ' : '') + day.format(time)
}

/** Returns the distance in words; undefined if it is a week or more. */
function distanceOf(time: Date, now: Date): string | undefined {
  const distance = time.getTime() - now.getTime()
  const size = Math.abs(distance)
  if (size < minute) return 'seconds ago'
  if (size < hour) return relative.format(Math.trunc(distance / minute), 'minute')
  if (size < oneDay) return relative.format(Math.trunc(distance / hour), 'hour')
  // Calendar days, so that "yesterday" is the day before. Rounding allows for a change of the clocks.
  const days = Math.round((midnight(time) - midnight(now)) / oneDay)
  return Math.abs(days) < recentDays ? relative.format(days, 'day') : undefined
}

function midnight(time: Date): number {
  return new Date(time).setHours(0, 0, 0, 0)
}

/** Groups rows by the reader's days. The server groups them by those of UTC. */
function groupByDay(days: Element): void {
  const rows = [...days.querySelectorAll('li')].map((row) => ({ row, name: dayOfRow(row) }))
  const shell = days.querySelector('section')?.cloneNode(true)
  const isRight = rows.every(({ row, name }) => row.closest('section')?.querySelector('h2')?.textContent === name)
  if (isRight || !(shell instanceof HTMLElement)) return
  shell.querySelector('ul')?.replaceChildren()
  days.replaceChildren()
  let last: string | undefined
  for (const { row, name } of rows) {
    if (name !== last) days.append(sectionOf(shell, name))
    last = name
    days.lastElementChild?.querySelector('ul')?.append(row)
  }
}

function dayOfRow(row: Element): string {
  return day.format(new Date(row.querySelector('time')?.dateTime ?? 0))
}

function sectionOf(shell: HTMLElement, name: string): Node {
  const section = shell.cloneNode(true)
  const title = section instanceof HTMLElement ? section.querySelector('h2') : null
  if (title) title.textContent = name
  return section
}
