/** Links to the tables of types, and from the table of a type. */

import type { AnswerOf } from '../../http/in-process.ts'
import type { Urls } from '../urls.ts'
import { plural } from './dates.tsx'
import { mayWrite } from './rights.ts'

type NodeType = AnswerOf<'getType'>

/** Types that a page links to without a click. */
const mostLinks = 20

/** Returns the name of several pages of a type. */
export function pluralOf({ definition: { title, plural: many } }: Pick<NodeType, 'definition'>): string {
  return many ?? title
}

/** The list of the pages that break rules of their type. */
export function problemsUrl(urls: Urls, org: string, type: string): string {
  return `${urls.table(org, {}, type)}/problems`
}

function settingsUrl(urls: Urls, org: string, type: string): string {
  return `${urls.org(org)}/settings/types/${type}`
}

/** Returns a title as it is inside a sentence. Abbreviations keep their capitals. */
function inSentence(title: string): string {
  return /^\p{Lu}(?!\p{Lu})/u.test(title) ? title.charAt(0).toLowerCase() + title.slice(1) : title
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

interface HeadProps {
  readonly urls: Urls
  readonly org: Pick<AnswerOf<'getOrg'>, 'id' | 'role'>
  readonly type: NodeType
  /** The number of pages that break rules of the type. Undefined if it is not known. */
  readonly problems: number | undefined
}

/** Leads from the pages of a type to its other pages. */
export function TypeHead({ urls, org: { id, role }, type, problems = 0 }: HeadProps) {
  const { name, definition } = type
  return (
    <p class="type-head">
      <a href={urls.table(id)}>All pages</a>
      {problems > 0 && (
        <a class="broken" href={problemsUrl(urls, id, name)}>
          {plural(problems, 'page')} with problems
        </a>
      )}
      {role !== undefined && <a href={settingsUrl(urls, id, name)}>Settings of this type</a>}
      {mayWrite(role) && (
        <a class="btn small go" href={urls.newNode(id, { type: name })}>
          {`New ${inSentence(definition.title)}`}
        </a>
      )}
    </p>
  )
}
