/** Searches that remember their last result, so that rules of Markdown take linear time. Also runs in browsers. */

interface Search {
  readonly from: number
  readonly found: number
}

/** The last search for each mark, by the owner of the text. */
const searches = new WeakMap<object, Map<string, Search>>()

/**
 * Works like `text.indexOf`, but reuses the last result, so that many openings take linear time.
 *
 * @param owner an object that belongs only to this text
 */
export function nextOf(owner: object, text: string, mark: string, from: number): number {
  const known = searches.get(owner) ?? new Map<string, Search>()
  searches.set(owner, known)
  const last = known.get(mark)
  if (last && last.from <= from && (last.found < 0 || last.found >= from)) return last.found
  const found = text.indexOf(mark, from)
  known.set(mark, { from, found })
  return found
}

/** True if the last search found nothing. */
export function wasMissing(owner: object, mark: string): boolean {
  return searches.get(owner)?.get(mark)?.found === -1
}
