/** One Markdown file as read: what its front matter and its text say together. */

import { plural } from '../../base/plural.ts'
import { canonicalId, isId } from '../../domain/layout.ts'
import { type Link, type Prose, readProse, wikilink } from '../../markdown/markdown-facts.ts'
import { toSingleLine } from '../../markdown/single-line.ts'
import { sourceFilesKey } from '../../markdown/vault-paths.ts'
import { wikilinkAt } from '../../markdown/wikilinks.ts'
import { distinct, type FrontMatter, maxTag, maxTags, readFrontMatter } from './front-matter.ts'
import type { Statement } from './statement.ts'
import { sourcePathKey } from './statement.ts'

export interface Document {
  /** The id of a node that the front matter names. */
  readonly id: string | undefined
  /** '' where neither front matter nor a heading gives one. */
  readonly title: string
  readonly tags: readonly string[]
  readonly aliases: readonly string[]
  /** Without those that say where the note lies. */
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
  const { [sourcePathKey]: own, [sourceFilesKey]: ownFiles, ...others } = front.properties
  const id = stated ? stated.id : front.properties.id
  const gaveWay = [
    ...(own !== undefined && own !== path ? [sourcePathKey] : []),
    ...(ownFiles === undefined ? [] : [sourceFilesKey]),
  ]
  return {
    id: typeof id === 'string' && isId(canonicalId(id)) ? canonicalId(id) : undefined,
    title: front.title || toSingleLine(prose.heading, maxTitle),
    tags: stated?.isWhole ? front.tags : distinct([...front.tags, ...prose.tags]),
    aliases: front.aliases,
    properties: others,
    links: stated?.isWhole ? [] : [...linksIn(Object.values(front.properties)), ...prose.links],
    hugoReferences: prose.hugoReferences,
    body: gaveWay.length > 0 ? text : front.body,
    stated,
    problems: [
      ...(front.problem ? [front.problem] : []),
      ...gaveWay.map((name) => `its own property ${name} is only in the text: import writes that one`),
      ...(stated ? [] : cutIn(front, prose)),
      ...(prose.cut ? ['longer than 2 MiB: kept whole, but headings, links and tags are of its beginning'] : []),
    ],
  }
}

/** What the node does not have of title and tags: the note has them still, in its text or its properties. */
function cutIn({ title, written, tags }: FrontMatter, prose: Prose): string[] {
  const whole = title === '' ? prose.heading : written.title
  const all = new Map([...written.tags, ...prose.tags].map((tag) => [tag.toLowerCase(), tag]))
  for (const tag of distinct([...tags, ...prose.tags])) all.delete(tag.toLowerCase())
  const first = [...all.values()].slice(0, examples).map((tag) => toSingleLine(tag, maxTag))
  const more = all.size > examples ? ', …' : ''
  return [
    ...(whole.length > maxTitle ? [`its title is cut to ${maxTitle} of ${whole.length} characters`] : []),
    ...(all.size > 0
      ? [
          `${plural(all.size, 'of its tags is', 'of its tags are')} left out, since a node has ${maxTags} tags of ${maxTag} characters: ${first.join(', ')}${more}`,
        ]
      : []),
  ]
}

/** Of a node. */
const maxTitle = 500
/** Tags that are named. */
const examples = 3

/** Obsidian's links in properties: texts, alone or in a list, that are one wikilink. */
function linksIn(values: readonly unknown[]): Link[] {
  const texts = values.flat().filter((value) => typeof value === 'string')
  const links = texts.map((text) => wikilink(aloneIn(text.trim())))
  return links.filter((link) => link !== undefined)
}

/** What stands between the brackets of the wiki link that a text is; '' if it is something else. */
function aloneIn(text: string): string {
  const link = wikilinkAt(text, 0)
  return link?.mark === '' && link.length === text.length ? link.inner : ''
}
