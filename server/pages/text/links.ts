/** Turns the links of a text, as `listLinks` resolves them, into URLs of pages. */

import type { Output } from '../../../spec/client/api.ts'
import * as limits from '../../base/limits.ts'
import { nameOf } from '../linking.ts'
import type { Urls } from '../urls.ts'
import type { Card } from './embeds.ts'
import { headingId, type Resolve, type Target } from './markdown.ts'
import { isMediaName, mediaOf } from './media.ts'
import { blockId } from './page-rules.ts'

type Link = Output<'listLinks'>['links'][number]

/** The text that is shown. */
export interface TextAt {
  readonly org: string
  readonly node: string
  /** The revision at which files are read. */
  readonly revision: string
  /** True if the reader may create missing nodes. */
  readonly isEditable?: boolean
  /** The cards of the nodes that it embeds, by `cardKey`. */
  readonly cards?: ReadonlyMap<string, Card>
  /** True if it is shown as part of another page. Links to its own headings then lead to its page. */
  readonly isQuoted?: boolean
}

/** Identifies what is embedded: a node, or a part of it. */
export function cardKey({ id, heading, block }: NonNullable<Link['node']>): string {
  return JSON.stringify([id, heading, block])
}

/** Characters of a target that `listLinks` returns. */
const knownCharacters = 2_000
/** Schemes that may become links. All others stay text, so that no link runs a script. */
const followed = /^(https?:\/\/|mailto:|tel:|\/\/[\w.-])/i

export function resolver(urls: Urls, at: TextAt, links: readonly Link[]): Resolve {
  const known = new Map<string, Link>()
  for (const link of links) {
    const key = `${link.form === 'wikilink'} ${link.target}`
    // A link and an embed of the same name may lead to different nodes.
    for (const one of [key, `${key} ${link.embeds}`]) if (!known.has(one)) known.set(one, link)
  }
  return (target, isWiki, isEmbed = false) => {
    const key = `${isWiki} ${target.slice(0, knownCharacters)}`
    const link = known.get(`${key} ${isEmbed}`) ?? known.get(key)
    if (link === undefined) return unlisted(urls, at, target)
    const found = targetOf(urls, at, link, target)
    if (found !== undefined || !isWiki || !at.isEditable) return found
    return isEmbed && isMediaName(target.split('#')[0] ?? '') ? undefined : toMake(urls, at, target)
  }
}

function targetOf(
  urls: Urls,
  { org, node, revision, cards, isQuoted = false }: TextAt,
  { kind, node: led, file }: Link,
  target: string,
): Target | undefined {
  if (kind === 'node' && led) {
    const anchor = anchorOf(led)
    const isHere = led.id === node && anchor !== ''
    const href = isHere && !isQuoted ? anchor : urls.node(org, led.id, led.title) + anchor
    const card = cards?.get(cardKey(led))
    return { kind: 'node', href, name: isHere ? (led.heading ?? `^${led.block}`) : led.title, ...(card && { card }) }
  }
  if (kind === 'file' && file?.exists) {
    const media = mediaOf(file)
    const href = urls.raw(org, node, revision, file.path)
    return { kind: 'file', href, name: file.path.split('/').at(-1) ?? file.path, ...(media && { media }) }
  }
  return kind === 'outside' ? outside(target) : undefined
}

/** Returns a link to the form that creates the missing node. */
function toMake(urls: Urls, { org, node }: TextAt, target: string): Target | undefined {
  const title = nameOf(target.split('#')[0] ?? '')
  if (title === '' || title.length > limits.title) return undefined
  return { kind: 'missing', href: urls.newNode(org, { title, from: node }), name: target }
}

/** Resolves a target that `listLinks` omits: beyond its limit, or in a proposal's description. */
function unlisted(urls: Urls, { org }: TextAt, target: string): Target | undefined {
  const [, of, node, number] =
    /^\/orgs\/([^/]+)\/nodes\/([\da-f-]{36})\/pull-requests\/([1-9]\d{0,8})$/.exec(target) ?? []
  const [, whole, set] = /^\/orgs\/([^/]+)\/change-sets\/([1-9]\d{0,8})$/.exec(target) ?? []
  if (whole === org && set !== undefined)
    return { kind: 'node', href: urls.changeSet(org, Number(set)), name: `#${set}` }
  if (of !== org || node === undefined) return outside(target)
  return { kind: 'node', href: urls.proposal(org, node, Number(number)), name: `#${number}` }
}

function outside(target: string): Target | undefined {
  return followed.test(target) ? { kind: 'outside', href: target, name: target } : undefined
}

function anchorOf({ heading, block }: NonNullable<Link['node']>): string {
  if (block !== undefined) return `#${encodeURIComponent(blockId(block))}`
  if (heading === undefined) return ''
  return `#${encodeURIComponent(headingId(heading.split('#').at(-1) ?? heading))}`
}
