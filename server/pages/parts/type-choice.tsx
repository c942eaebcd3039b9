/** Types for a new page: links to the forms for their fields. */

import * as limits from '../../base/limits.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import type { PageContext } from '../page-context.ts'
import type { Urls } from '../urls.ts'
import { unlessBusy } from './degraded.ts'

type NodeType = AnswerOf<'getType'>

/** Links without a click. */
const mostFirst = 20

/** Returns the types of an organisation by title. None if they cannot be read now. */
export async function readTypeChoice({ api }: PageContext, org_id: string): Promise<readonly NodeType[]> {
  const { types } = await unlessBusy<Pick<AnswerOf<'listTypes'>, 'types'>>(
    api.listTypes({ path: { org_id }, query: { limit: limits.types } }),
    { types: [] },
  )
  const { compare } = new Intl.Collator('en', { numeric: true })
  return [...types].sort((one, other) => compare(one.definition.title, other.definition.title))
}

interface ChoiceProps {
  readonly urls: Urls
  readonly org: string
  readonly types: readonly NodeType[]
  /** The query of the page, which the links keep. */
  readonly query: URLSearchParams
}

export function TypeChoice({ urls, org, types, query }: ChoiceProps) {
  if (types.length === 0) return null
  const links = (some: readonly NodeType[]) =>
    some.map(({ name, definition }) => (
      <a href={urls.newNode(org, { ...Object.fromEntries(query), type: name })}>
        <bdi>{definition.title}</bdi>
      </a>
    ))
  return (
    <nav class="type-links" aria-label="Types">
      <span class="why">Type:</span>
      {links(types.slice(0, mostFirst))}
      {types.length > mostFirst && (
        <details>
          <summary>All types</summary>
          <div class="all">{links(types)}</div>
        </details>
      )}
    </nav>
  )
}
