/** What the links of a text lead to here: the operation `links` says it of each, this makes addresses of it. */

import type { Output } from '../../../spec/client/api.ts'
import { longestTitle, nameOf } from '../edits.ts'
import type { Urls } from '../urls.ts'
import { headingId, type Resolve, type Target } from './markdown.ts'
import { blockId } from './page-rules.ts'

type Link = Output<'listLinks'>['links'][number]

/** The text that is shown. */
export interface TextAt {
  readonly org: string
  readonly node: string
  /** At which files are read. */
  readonly revision: string
  /** Whether who reads it may make what is missing. */
  readonly isEditable?: boolean
}

/** Characters of a target by which `links` knows it. */
const knownCharacters = 2_000
/** Schemes that a browser may follow; no other runs or opens anything. */
const followed = /^(https?:\/\/|mailto:|tel:|\/\/[\w.-])/i

export function resolver(urls: Urls, at: TextAt, links: readonly Link[]): Resolve {
  const known = new Map<string, Link>()
  for (const link of links) {
    const key = `${link.form === 'wikilink'} ${link.target}`
    if (!known.has(key)) known.set(key, link)
  }
  return (target, isWiki) => {
    const link = known.get(`${isWiki} ${target.slice(0, knownCharacters)}`)
    if (link === undefined) return unlisted(target)
    return targetOf(urls, at, link, target) ?? (isWiki && at.isEditable ? toMake(urls, at, target) : undefined)
  }
}

function targetOf(
  urls: Urls,
  { org, node, revision }: TextAt,
  { kind, node: led, file }: Link,
  target: string,
): Target | undefined {
  if (kind === 'node' && led) {
    const anchor = anchorOf(led)
    const href = led.id === node && anchor !== '' ? anchor : urls.node(org, led.id) + anchor
    return { kind: 'node', href, name: led.id === node && anchor !== '' ? (led.heading ?? led.title) : led.title }
  }
  if (kind === 'file' && file?.exists)
    return {
      kind: 'file',
      href: urls.raw(org, node, revision, file.path),
      name: file.path.split('/').at(-1) ?? file.path,
    }
  return kind === 'outside' ? outside(target) : undefined
}

/** A link that leads nowhere yet leads to where its node is made. */
function toMake(urls: Urls, { org, node }: TextAt, target: string): Target | undefined {
  const title = nameOf(target.split('#')[0] ?? '')
  if (title === '' || title.length > longestTitle) return undefined
  return { kind: 'missing', href: urls.newNode(org, { title, from: node }), name: target }
}

/** What `links` leaves out of a long list, and of descriptions of proposals. */
function unlisted(target: string): Target | undefined {
  return outside(target)
}

function outside(target: string): Target | undefined {
  return followed.test(target) ? { kind: 'outside', href: target, name: target } : undefined
}

function anchorOf({ heading, block }: NonNullable<Link['node']>): string {
  if (block !== undefined) return `#${encodeURIComponent(blockId(block))}`
  if (heading === undefined) return ''
  return `#${encodeURIComponent(headingId(heading.split('#').at(-1) ?? heading))}`
}
