/** The properties of a page, below its title. */

import * as limits from '../../base/limits.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { wikilinkParts } from '../../markdown/wikilinks.ts'
import { connectionNamed } from '../linking.ts'
import type { Urls } from '../urls.ts'

type Node = AnswerOf<'getNode'>
type Properties = Node['properties']

/** Returns the URL of the page that a wiki link names; undefined without one. */
export type LinkOf = (target: string) => string | undefined

export function linksOf(urls: Urls, node: Node): LinkOf {
  return (target) => {
    const to = connectionNamed(node, target)
    return to && urls.node(node.org_id, to.target, to.target_title)
  }
}

/** `first`: not folded away. `items`: of a list. `name`, `value`: UTF-16 units. */
const most = { first: 4, items: 20, name: 100, value: 300 } as const

/** Shown elsewhere on the page, or only the bookkeeping of an import. */
const apart = ['description', 'source_path'] as const

/** Lists properties in their order. The first ones are always visible. */
export function PropertyList({ urls, node }: { readonly urls: Urls; readonly node: Node }) {
  const shown = shownProperties(node.properties)
  const linkOf = linksOf(urls, node)
  if (shown.length === 0) return null
  const rest = shown.slice(most.first)
  const hidden = shown.length - limits.propertyRows
  return (
    <section class="properties" aria-label="Properties">
      <PropertyRows of={shown.slice(0, most.first)} linkOf={linkOf} />
      {rest.length > 0 && (
        <details>
          <summary>and {rest.length.toLocaleString('en')} more</summary>
          <PropertyRows of={rest.slice(0, limits.propertyRows - most.first)} linkOf={linkOf} />
          {hidden > 0 && (
            <p class="why">
              The page shows {limits.propertyRows} of {shown.length.toLocaleString('en')} properties.
            </p>
          )}
        </details>
      )}
    </section>
  )
}

/** Leaves out properties that the page shows elsewhere. */
export function shownProperties(properties: Properties): [string, unknown][] {
  return Object.entries(properties).filter(
    ([name, value]) => !(apart as readonly string[]).includes(name) || typeof value !== 'string',
  )
}

interface RowsProps {
  readonly of: readonly (readonly [string, unknown])[]
  readonly linkOf: LinkOf
}

export function PropertyRows({ of, linkOf }: RowsProps) {
  return (
    <dl>
      {of.slice(0, limits.propertyRows).map(([name, value]) => (
        <div>
          <dt>{cut(name, most.name)}</dt>
          <dd>
            <Value {...{ value, linkOf }} />
          </dd>
        </div>
      ))}
    </dl>
  )
}

interface ValueProps {
  readonly value: unknown
  /** Absent where links stay text. */
  readonly linkOf?: LinkOf | undefined
}

/** Shows texts, numbers and lists of them in words, and other values as JSON. */
export function Value({ value, linkOf }: ValueProps) {
  if (Array.isArray(value) && value.length > 0 && value.every(isPlain))
    return (
      <>
        {value.slice(0, most.items).map((item, at) => (
          <>
            {at > 0 && ', '}
            <Plain value={item} linkOf={linkOf} />
          </>
        ))}
        {value.length > most.items && ` and ${(value.length - most.items).toLocaleString('en')} more`}
      </>
    )
  if (isPlain(value)) return <Plain {...{ value, linkOf }} />
  return <code>{cut(JSON.stringify(value), most.value)}</code>
}

type PlainValue = string | number | boolean

function isPlain(value: unknown): value is PlainValue {
  return ['string', 'number', 'boolean'].includes(typeof value)
}

function Plain({ value, linkOf }: ValueProps & { readonly value: PlainValue }) {
  if (typeof value === 'boolean') return <>{value ? 'yes' : 'no'}</>
  const text = String(value)
  if (!isWebUrl(text)) return <bdi>{linkOf ? linked(cut(text, most.value), linkOf) : cut(text, most.value)}</bdi>
  return (
    <a href={text} rel="noopener nofollow">
      {cut(text, most.value)}
    </a>
  )
}

/** Shows the wiki links in a text as links. */
function linked(text: string, linkOf: LinkOf) {
  // Every second part is what a link has between its brackets.
  return text.split(/!?\[\[([^[\]\r\n]{1,1000})\]\]/).map((part, at) => {
    if (at % 2 === 0) return part
    const { target, words } = wikilinkParts(part)
    const href = linkOf(target)
    const shown = words || target
    if (href !== undefined) return <a href={href}>{shown}</a>
    return (
      <span class="missing" title="No page has this name yet">
        {shown}
      </span>
    )
  })
}

/** True if the whole text is a URL of the web. Other schemes stay text. */
function isWebUrl(text: string): boolean {
  return text.length <= 2_000 && /^https?:\/\/[^\s<>"]+$/i.test(text) && URL.canParse(text)
}

function cut(text: string, length: number): string {
  if (text.length <= length) return text
  return `${text.slice(0, length - 1).replace(/[\ud800-\udbff]$/, '')}…`
}
