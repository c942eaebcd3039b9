/** Times as people read them. */

const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' })

/** `time`: ISO 8601. */
export function When({ time }: { readonly time: string }) {
  return <time datetime={time}>{dayOf(time)}</time>
}

export function dayOf(time: string): string {
  return day.format(new Date(time))
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`
}
