/** Fills the list of the user's organisations in the top bar. */

import './menu.ts'
import type { Schemas } from '../../../spec/client/api.ts'
import { segmentOf } from '../../base/page-segments.ts'

/** Milliseconds that the list may take, and the most organisations in it. */
const most = { ms: 8_000, orgs: 200 } as const

/** Lists them in the order of the API. */
export async function fillOrgs(menu: HTMLElement): Promise<void> {
  const { root = '', org: here } = document.body.dataset
  const listed = menu.querySelector('[data-listed]')
  try {
    const answer = await fetch(`${root}/orgs?limit=${most.orgs}`, { signal: AbortSignal.timeout(most.ms) })
    if (!answer.ok) throw new Error(answer.statusText)
    const { orgs } = (await answer.json()) as Schemas['OrgPage'] // the type of the spec
    const links = orgs.map(({ id, name }) => {
      const href = `${root}/o/${encodeURIComponent(segmentOf(id, name))}`
      const link = Object.assign(document.createElement('a'), { href, textContent: name })
      if (id === here) link.ariaCurrent = 'true'
      return link
    })
    listed?.replaceChildren(...links)
  } catch {
    const says = 'Your organisations could not be listed. Open Home instead.'
    listed?.replaceChildren(Object.assign(document.createElement('p'), { role: 'alert', textContent: says }))
  }
}
