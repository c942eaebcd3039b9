/** A bar that leads visitors to their draft proposal of several pages. */

import type { PageContext, PagePlace } from '../page-context.ts'
import { plural } from './dates.tsx'

interface Props {
  readonly visit: Pick<PageContext, 'urls' | 'params'>
  readonly org: NonNullable<PagePlace['org']>
}

/** Leads to the newest draft. Its own page has no such bar. */
export function Basket({ visit: { urls, params }, org: { id, draft_change_sets: [draft, ...others] = [] } }: Props) {
  if (draft === undefined || (params.node === undefined && params.number === `${draft.number}`)) return null
  return (
    <aside class="notice basket" aria-label="Draft proposal">
      <p>
        Draft proposal: <bdi>{draft.title}</bdi> · {plural(draft.num_items, 'page')}
        {others.length > 0 && ` · ${plural(others.length, 'more draft')}`}
      </p>
      <a class="btn small" href={urls.changeSet(id, draft.number)}>
        Review and submit
      </a>
    </aside>
  )
}
