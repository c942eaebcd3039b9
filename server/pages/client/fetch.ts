/** Fetches from the API, below the organisation of the page. */

const { root = '', org = '' } = document.body.dataset

/** Returns the path of a node's file on main. */
export function rawPath(node: string, file: string): string {
  return `${root}/orgs/${org}/nodes/${node}/tree/main/raw/${encodeURIComponent(file)}`
}

/** Fetches JSON; undefined if the request fails, because pages work without it. */
export async function fetchJson<T>(path: string, init?: RequestInit): Promise<T | undefined> {
  try {
    const answer = await fetch(`${root}/orgs/${org}/${path}`, init)
    return answer.ok ? ((await answer.json()) as T) : undefined // the caller names the spec's type of the response
  } catch {
    return undefined
  }
}
