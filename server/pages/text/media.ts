/** Pictures, sounds, videos and PDF files of a node, as its page shows them. */

import type { Token } from 'markdown-it'
import { wikilinkParts } from '../../markdown/wikilinks.ts'
import { escaped } from './escape.ts'
import { sizeOf } from './sizes.ts'

/** The file that a link leads to. */
export interface Media {
  readonly kind: 'picture' | 'audio' | 'video' | 'pdf'
  /** Bytes. */
  readonly size?: number
  /** Pixels of a picture. */
  readonly width?: number
  readonly height?: number
}

/** A file as `listLinks` describes it. */
interface LinkedFile {
  readonly path: string
  readonly size?: number
  readonly media_type?: string
  readonly width?: number
  readonly height?: number
}

const pictureEndings = /\.(avif|bmp|gif|ico|jpe?g|png|svg|webp)$/i
const mediaEndings =
  /\.(avif|bmp|gif|ico|jpe?g|png|svg|webp|mp3|wav|m4a|ogg|oga|opus|flac|3gp|mp4|m4v|webm|ogv|mov|mkv|pdf)$/i

/** True if the name is that of a picture, sound, video or PDF file. */
export function isMediaName(name: string): boolean {
  return mediaEndings.test(name)
}

/** Returns how to show a file. Its bytes decide: a page with the name of a video is not one. */
export function mediaOf({ path, media_type: type, ...facts }: LinkedFile): Media | undefined {
  const kind = type === undefined ? (pictureEndings.test(path) ? 'picture' : undefined) : kindOf(type, path)
  return kind && { kind, ...facts }
}

function kindOf(type: string, path: string): Media['kind'] | undefined {
  // The type of BMP files is not recognised.
  if (type.startsWith('image/') || (type === 'application/octet-stream' && /\.bmp$/i.test(path))) return 'picture'
  if (type.startsWith('audio/')) return /\.ogv$/i.test(path) ? 'video' : 'audio'
  if (type.startsWith('video/')) return /\.(m4a|weba)$/i.test(path) ? 'audio' : 'video'
  return type === 'application/pdf' ? 'pdf' : undefined
}

/** The size that an author wants, in pixels. */
interface Wanted {
  readonly width?: number
  readonly height?: number
}

/** An image or an embed, as written. */
export interface Embedded {
  readonly target: string
  readonly isWiki: boolean
  /** The words for readers who do not see it; '' without any. */
  readonly alt: string
  readonly wanted: Wanted
  /** True if it is written as an HTML element. */
  readonly isHtml: boolean
}

/** Reads a token `image` or `wikilink`. @param alt the text of an image */
export function embeddedOf(token: Token, alt: string): Embedded {
  if (token.type === 'wikilink') {
    const { target, words } = wikilinkParts(token.content)
    return { target, isWiki: true, isHtml: false, ...altAndSize(words) }
  }
  const target = String(token.attrGet('src') ?? '')
  const isHtml = token.children === null
  const pixels = (name: string) => /^\d{1,4}$/.exec(String(token.attrGet(name) ?? ''))?.[0]
  const [width, height] = [pixels('width'), pixels('height')]
  if (!isHtml) return { target, isWiki: false, isHtml, ...altAndSize(alt) }
  return { target, isWiki: false, isHtml, alt, wanted: wantedOf(width, height) }
}

/** Splits `words|300` or `words|300x200`. Obsidian also reads a number without words as a size. */
function altAndSize(words: string): Pick<Embedded, 'alt' | 'wanted'> {
  const [, alt = '', width, height] = /^(?:(.*)\|)?\s*(\d{1,4})(?:x(\d{1,4}))?\s*$/s.exec(words) ?? []
  return width === undefined ? { alt: words, wanted: {} } : { alt: alt.trim(), wanted: wantedOf(width, height) }
}

function wantedOf(width: string | undefined, height: string | undefined): Wanted {
  return {
    ...(width !== undefined && Number(width) > 0 && { width: Number(width) }),
    ...(height !== undefined && Number(height) > 0 && { height: Number(height) }),
  }
}

/**
 * Returns the attributes of a picture's size, so that nothing moves when it is loaded. A picture keeps its proportions:
 * a width and a height are the box that it fits into.
 */
function sizeAttributes({ width, height }: Media, wanted: Wanted): string {
  const scale =
    width === undefined || height === undefined
      ? undefined
      : Math.min(
          (wanted.width ?? Number.POSITIVE_INFINITY) / width,
          (wanted.height ?? Number.POSITIVE_INFINITY) / height,
        )
  if (width === undefined || height === undefined || scale === undefined) return attributes(wanted.width, wanted.height)
  if (!Number.isFinite(scale)) return attributes(width, height)
  return attributes(Math.max(1, Math.round(width * scale)), Math.max(1, Math.round(height * scale)))
}

function attributes(width: number | undefined, height: number | undefined): string {
  return `${width === undefined ? '' : ` width="${width}"`}${height === undefined ? '' : ` height="${height}"`}`
}

interface Shown {
  readonly href: string
  /** The name of the file. */
  readonly name: string
  readonly media: Media
}

/** The narrowest picture in a line that leads to its file, in pixels. A smaller one is an icon. */
const leadsFrom = 64

/** Returns a picture as part of a line. @param isInLink true if it is the text of a link */
export function picture(shown: Shown, { alt, wanted }: Embedded, isInLink: boolean): string {
  const { href, name, media } = shown
  const size = sizeAttributes(media, wanted)
  const image = `<img src="${escaped(href)}" alt="${escaped(alt || name)}"${size} loading="lazy" decoding="async">`
  const width = wanted.width ?? media.width
  if (isInLink || (width !== undefined && width < leadsFrom)) return image
  return `<a class="picture" href="${escaped(href)}">${image}</a>`
}

/** Returns a picture as a block, with its words as caption. Readers who hear the page get them once. */
export function pictureBlock(shown: Shown, embedded: Embedded, isCaptioned: boolean): string {
  const { alt, isHtml } = embedded
  const isName = [shown.name, shown.name.replace(/\.\w+$/, '')].some((name) => folded(name) === folded(alt))
  const caption =
    !isCaptioned || isHtml || alt === '' || isName ? '' : `<figcaption aria-hidden="true">${escaped(alt)}</figcaption>`
  return `<figure class="picture">${picture(shown, embedded, false)}${caption}</figure>\n`
}

/** Folds a name, also as `attached-names.ts` changes the names of files. */
function folded(name: string): string {
  return (
    name
      .normalize('NFC')
      .toLowerCase()
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? []
  ).join('-')
}

/** Returns the element that plays a file. @param fragment the part of the target after `#` */
export function player({ href, name, media }: Shown, { alt }: Embedded, fragment: string): string {
  const part = /^t=[\d.,:]{1,40}$/.test(fragment) ? `#${fragment}` : ''
  const inline = media.kind === 'video' ? ' playsinline' : ''
  const src = escaped(href + part)
  return `<${media.kind} controls preload="metadata"${inline} src="${src}" aria-label="${escaped(alt || name)}"></${media.kind}>`
}

export function playerBlock(shown: Shown, embedded: Embedded, fragment: string): string {
  const { media } = shown
  const size = media.size === undefined ? '' : ` <span class="why">${sizeOf(media.size)}</span>`
  const caption = `<figcaption>${fileLink(shown, embedded, '')}${size}</figcaption>`
  return `<figure class="media">${player(shown, embedded, fragment)}${caption}</figure>\n`
}

/** Returns a link to a file that pages do not show. @param fragment as for `player` */
export function fileLink({ href, name }: Shown, { alt }: Embedded, fragment: string): string {
  const part = /^page=\d{1,6}$/.test(fragment) ? `#${fragment}` : ''
  return `<a class="file" href="${escaped(href + part)}">${escaped(alt || name)}</a>`
}

export function fileBlock(shown: Shown, embedded: Embedded, fragment: string): string {
  const page = /^page=(\d{1,6})$/.exec(fragment)?.[1]
  const { size } = shown.media
  const facts = ['PDF', ...(size === undefined ? [] : [sizeOf(size)]), ...(page === undefined ? [] : [`page ${page}`])]
  return `<p class="file-card">${fileLink(shown, embedded, fragment)} <span class="why">${facts.join(' · ')}</span></p>\n`
}

/** Returns the words for a picture on another host, which pages do not load. */
export function elsewhere(href: string, alt: string): string {
  const host = /^(?:https?:)?\/\/(?:[^/?#@]*@)?([^/?#:]{1,253})/i.exec(href)?.[1]
  const says = host === undefined ? 'Picture from another site' : `Picture from ${host}`
  return alt === '' ? says : `${alt} · ${says}`
}
