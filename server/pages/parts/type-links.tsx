/** Links to the tables of types. */

import type { AnswerOf } from '../../http/in-process.ts'
import type { Urls } from '../urls.ts'
import { plural } from './dates.tsx'

type NodeType = AnswerOf<'getType'>

/** Types that a page links to without a click. */
const mostLinks = 20

/** Returns the name of several pages of a type. */
export function pluralOf({ definition: { title, plural: many } }: Pick<NodeType, 'definition'>): string {
  return many ?? title
}

interface LinksProps {
  readonly urls: Urls
  readonly org: Pick<AnswerOf<'getOrg'>, 'id' | 'role'>
  readonly types: readonly NodeType[]
}

/** Leads from all pages to those of the most used types, and to all types. */
export function TypeLinks({ urls, org, types }: LinksProps) {
  if (types.length === 0) return null
  const links = (some: readonly NodeType[]) =>
    some.map((type) => (
      <a href={urls.table(org.id, {}, type.name)}>
        <bdi>{pluralOf(type)}</bdi> <span class="n">{type.num_nodes.toLocaleString('en')}</span>
      </a>
    ))
  const byUse = [...types].sort((one, other) => other.num_nodes - one.num_nodes)
  const all = `All ${plural(types.length, 'type')}`
  return (
    <nav class="type-links" aria-label="Types">
      {links(byUse.slice(0, mostLinks))}
      {types.length > mostLinks &&
        (org.role === undefined ? (
          <details>
            <summary>{all}</summary>
            <div class="all">{links(types)}</div>
          </details>
        ) : (
          <a href={urls.settings(org.id, 'types')}>{all}</a>
        ))}
    </nav>
  )
}
