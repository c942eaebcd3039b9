/** The pages that this user has read in this browser, newest first. They are deleted when the user signs out. */

export interface RecentPage {
  readonly id: string
  readonly title: string
  /** The path of the page, with the prefix of a proxy. */
  readonly path: string
  readonly org: string
  readonly orgName: string
}

/** Maximum pages; maximum UTF-16 units of a title. */
const most = { pages: 20, title: 200 } as const
const key = 'recents'

/** Adds a page that `person` reads. Without storage, nothing is remembered. */
export function rememberPage(person: string, page: RecentPage): void {
  const others = recentPages(person).filter(({ id, org }) => id !== page.id || org !== page.org)
  const pages = [{ ...page, title: page.title.slice(0, most.title) }, ...others].slice(0, most.pages)
  try {
    localStorage[key] = JSON.stringify({ person, pages })
  } catch {
    // Storage is full or disabled.
  }
}

export function forgetPages(): void {
  try {
    localStorage.removeItem(key)
  } catch {
    // Without storage, there is nothing to delete.
  }
}

/** Returns the pages of this user; none of another one, whose session may have expired. */
export function recentPages(person: string): RecentPage[] {
  try {
    const stored: unknown = JSON.parse(localStorage[key] ?? '{}')
    if (!isRecord(stored) || stored.person !== person || !Array.isArray(stored.pages)) return []
    return stored.pages.filter(isPage).slice(0, most.pages)
  } catch {
    return []
  }
}

function isPage(value: unknown): value is RecentPage {
  if (!isRecord(value)) return false
  const isWhole = ['id', 'title', 'path', 'org', 'orgName'].every((name) => typeof value[name] === 'string')
  return isWhole && /^\/(?!\/)/.test(String(value.path))
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
