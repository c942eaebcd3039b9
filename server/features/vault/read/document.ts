/** Reads a Markdown file: combines its front matter and its text. */

import * as limits from '../../../base/limits.ts'
import { plural } from '../../../base/plural.ts'
import { canonicalId, isId } from '../../../domain/layout.ts'
import { type Link, type Prose, readProse, wikilink } from '../../../markdown/markdown-facts.ts'
import { toSingleLine } from '../../../markdown/single-line.ts'
import { sourceFilesKey } from '../../../markdown/vault-paths.ts'
import { wikilinkAt } from '../../../markdown/wikilinks.ts'
import { distinct, type FrontMatter, readFrontMatter } from './front-matter.ts'
import type { Statement } from './statement.ts'
import { sourcePathKey } from './statement.ts'

/** A link of the text or of a property. */
export interface DocumentLink extends Link {
  /** The name of the property, if the link is in the front matter. */
  readonly property?: string
}

export interface Document {
  /** The node id in the front matter. */
  readonly id: string | undefined
  /** The title; '' if neither front matter nor a heading has one. */
  readonly title: string
  readonly tags: readonly string[]
  readonly aliases: readonly string[]
  /** The properties, without those that record the location of the note. */
  readonly properties: Readonly<Record<string, unknown>>
  readonly links: readonly DocumentLink[]
  /** The targets of Hugo's shortcodes. */
  readonly hugoReferences: readonly string[]
  readonly body: string
  /** The statement that an export wrote about the node. The properties then lack the id. */
  readonly stated: Statement | undefined
  readonly problems: readonly string[]
}

export function readDocument(path: string, text: string): Document {
  const front = readFrontMatter(text)
  const { stated } = front
  // A whole statement already has the links and tags of the node.
  const prose = readProse(stated?.isWhole ? '' : front.body)
  const { [sourcePathKey]: own, [sourceFilesKey]: ownFiles, ...others } = front.properties
  const id = stated ? stated.id : front.properties.id
  const gaveWay = [
    ...(own !== undefined && own !== path ? [sourcePathKey] : []),
    ...(ownFiles === undefined ? [] : [sourceFilesKey]),
  ]
  return {
    id: typeof id === 'string' && isId(canonicalId(id)) ? canonicalId(id) : undefined,
    title: front.title || toSingleLine(prose.heading, limits.title),
    tags: stated?.isWhole ? front.tags : distinct([...front.tags, ...prose.tags]),
    aliases: front.aliases,
    properties: others,
    links: stated?.isWhole ? [] : [...linksIn(front.properties), ...prose.links],
    hugoReferences: prose.hugoReferences,
    body: gaveWay.length > 0 ? text : front.body,
    stated,
    problems: [
      ...(front.problem ? [front.problem] : []),
      ...gaveWay.map(
        (name) => `its own property ${name} is kept only in the text, because an import sets this property`,
      ),
      ...(stated ? [] : cutIn(front, prose)),
      ...(prose.cut
        ? ['longer than 2 MiB: the whole text is kept, but headings, links and tags are only those of its beginning']
        : []),
    ],
  }
}

/** Reports a cut title and left-out tags. The note still has them, in its text or its properties. */
function cutIn({ title, written, tags, properties }: FrontMatter, prose: Prose): string[] {
  const unread = (['title', 'tags'] as const).filter(
    (key) => Object.hasOwn(properties, key) && written[key].length === 0,
  )
  const whole = title === '' ? prose.heading : written.title
  const all = new Map([...written.tags, ...prose.tags].map((tag) => [tag.toLowerCase(), tag]))
  for (const tag of distinct([...tags, ...prose.tags])) all.delete(tag.toLowerCase())
  const first = [...all.values()].slice(0, examples).map((tag) => toSingleLine(tag, limits.tag))
  const more = all.size > examples ? ', …' : ''
  return [
    ...unread.map((key) => `its ${key} in the front matter is not ${kinds[key]}, so it is only a property of the node`),
    ...(whole.length > limits.title ? [`its title is cut to ${limits.title} of ${whole.length} characters`] : []),
    ...(all.size > 0
      ? [
          `${plural(all.size, 'of its tags is', 'of its tags are')} left out, because a node has at most ${limits.tags} tags of ${limits.tag} characters: ${first.join(', ')}${more}`,
        ]
      : []),
  ]
}

const kinds = { title: 'a text', tags: 'a list of words' } as const
/** Number of tags that are named. */
const examples = 3

/** Returns Obsidian's links in properties: strings, also in lists, that are exactly one wiki link. */
function linksIn(properties: Readonly<Record<string, unknown>>): DocumentLink[] {
  return Object.entries(properties).flatMap(([property, value]) =>
    [value].flat().flatMap((text) => {
      const link = typeof text === 'string' ? wikilink(aloneIn(text.trim())) : undefined
      return link ? [{ ...link, property }] : []
    }),
  )
}

/** Returns the text in the brackets, if the whole text is one wiki link; otherwise ''. */
function aloneIn(text: string): string {
  const link = wikilinkAt(text, 0)
  return link?.mark === '' && link.length === text.length ? link.inner : ''
}
