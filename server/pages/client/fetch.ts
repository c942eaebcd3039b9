/** Asks the service for what lies under the organisation of the page. */

const { root = '', org = '' } = document.body.dataset

/** The path of a page of the organisation, or of a node's. */
export function pathOf(node?: string): string {
  return `${root}/o/${org}${node === undefined ? '' : `/n/${node}`}`
}

/** Undefined where nothing comes: the page goes on without it. */
export async function fetchJson<T>(path: string, init?: RequestInit): Promise<T | undefined> {
  try {
    const answer = await fetch(`${root}/orgs/${org}/${path}`, init)
    return answer.ok ? ((await answer.json()) as T) : undefined // as the spec says of this operation
  } catch {
    return undefined
  }
}
