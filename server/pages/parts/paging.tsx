/** Links between the pages of a list. `from` in the query is the number of items to skip. */

/** Returns the number of items to skip; 0 if it is not valid. */
export function pageOffset(sent: string | null): number {
  return sent !== null && /^\d{1,7}$/.test(sent) ? Number(sent) : 0
}

interface PagesProps {
  /** The URL of the first page. */
  readonly base: string
  readonly offset: number
  /** Maximum items on a page. */
  readonly size: number
  readonly total: number
  /** The names of the previous and the next page. Default: those of a list that begins with the newest items. */
  readonly names?: readonly [string, string]
}

/** Links to the previous and the next page. */
export function Pages({ base, offset, size, total, names = ['Newer', 'Older'] }: PagesProps) {
  const link = (from: number, text: string) => (
    <a class="btn" href={from === 0 ? base : `${base}${base.includes('?') ? '&' : '?'}from=${from}`}>
      {text}
    </a>
  )
  if (total <= size && offset === 0) return null
  return (
    <p class="acts">
      {offset > 0 && link(Math.max(0, offset - size), names[0])}
      {offset + size < total && link(offset + size, names[1])}
    </p>
  )
}
