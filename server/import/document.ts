/** One Markdown file as read: what its front matter and its text say together. */

import { canonicalId, isId } from '../domain/layout.ts'
import { type Link, readProse, wikilink } from '../domain/vault/prose.ts'
import { distinct, readFrontMatter } from './front-matter.ts'
import type { Statement } from './statement.ts'

export interface Document {
  /** The id of a node that the front matter names. */
  readonly id: string | undefined
  /** '' where neither front matter nor a heading gives one. */
  readonly title: string
  readonly tags: readonly string[]
  readonly aliases: readonly string[]
  readonly properties: Readonly<Record<string, unknown>>
  readonly links: readonly Link[]
  /** What Hugo's shortcodes refer to. */
  readonly hugoReferences: readonly string[]
  readonly body: string
  /** What an export wrote of the node; its properties do not have the id. */
  readonly stated: Statement | undefined
  readonly problems: readonly string[]
}

export function readDocument(path: string, text: string): Document {
  const front = readFrontMatter(text)
  const { stated } = front
  // A whole statement says what links and tags the node has.
  const prose = readProse(stated?.isWhole ? '' : front.body)
  const { source_path: own } = front.properties
  const id = stated ? stated.id : front.properties.id
  const gaveWay = own !== undefined && own !== path
  return {
    id: typeof id === 'string' && isId(canonicalId(id)) ? canonicalId(id) : undefined,
    title: front.title || prose.heading,
    tags: stated?.isWhole ? front.tags : distinct([...front.tags, ...prose.tags]),
    aliases: front.aliases,
    properties: { ...front.properties, source_path: path },
    links: stated?.isWhole ? [] : [...linksIn(Object.values(front.properties)), ...prose.links],
    hugoReferences: prose.hugoReferences,
    body: gaveWay ? text : front.body,
    stated,
    problems: [
      ...(front.problem ? [front.problem] : []),
      ...(gaveWay ? ['its own property source_path is only in the text: import writes that one'] : []),
      ...(prose.cut ? ['longer than 2 MiB: kept whole, but headings, links and tags are of its beginning'] : []),
    ],
  }
}

/** Obsidian's links in properties: texts, alone or in a list, that are one wikilink. */
function linksIn(values: readonly unknown[]): Link[] {
  const texts = values.flat().filter((value) => typeof value === 'string')
  const links = texts.map((text) => wikilink(/^\[\[([^[\]\r\n]{1,1000})\]\]$/.exec(text.trim())?.[1] ?? ''))
  return links.filter((link) => link !== undefined)
}
