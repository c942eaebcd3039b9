/** A card for a link to a node: picture, title, first words, and counts. The link works without it. */

import type { Schemas } from '../../../spec/client/api.ts'
import { idIn } from '../../base/page-segments.ts'
import { excerpt } from './excerpt.ts'
import { fetchJson, rawPath } from './fetch.ts'

type Node = Schemas['NodeDetails']
type Links = Schemas['LinkList']

/** Milliseconds until a card opens or closes, and for its picture. The pointer needs time to move to the card. */
const waits = { open: 150, close: 200, picture: 600 } as const
/** Maximum cached answers; maximum characters of the text. */
const most = { kept: 50, text: 180 } as const
/** Pixels between link and card, and between card and window. */
const gap = 8

/** Pixels of a picture. */
const box = { width: 302, height: 170 } as const

/** Contents of cards by node; undefined if the user cannot read the node. */
const known = new Map<string, Promise<HTMLElement[] | undefined>>()
let current: HTMLAnchorElement | undefined
let timer: ReturnType<typeof setTimeout> | undefined
const card = document.createElement('div')
Object.assign(card, { id: 'card', className: 'hover-card', role: 'tooltip', hidden: true })
document.querySelector('main')?.append(card)

card.addEventListener('pointerenter', () => clearTimeout(timer))
card.addEventListener('pointerleave', scheduleClose)
document.addEventListener('keydown', ({ key }) => key === 'Escape' && close())

/** Opens the card if `link` keeps the pointer or the focus. A touch follows the link instead, and also focuses it. */
export function cardOf(link: HTMLAnchorElement, event: Event): void {
  const isTouch = event instanceof PointerEvent ? event.pointerType === 'touch' : !link.matches(':focus-visible')
  const id = isTouch ? undefined : nodeOf(link)
  if (link === current || id === undefined || id === nodeOf(location)) return
  close()
  current = link
  for (const type of ['pointerleave', 'blur']) link.addEventListener(type, scheduleClose, { once: true })
  timer = setTimeout(() => void open(link, id), waits.open)
}

/** Returns the id of the node in the URL of a page. */
function nodeOf({ pathname }: Location | HTMLAnchorElement): string | undefined {
  const [, segment = ''] = /\/o\/[^/]+\/([^/]+)/.exec(pathname) ?? []
  return idIn(segment)
}

async function open(link: HTMLAnchorElement, id: string): Promise<void> {
  const asked = known.get(id) ?? contentOf(id)
  if (known.size === most.kept) known.clear()
  known.set(id, asked)
  const content = await asked
  if (!content || current !== link) return
  card.replaceChildren(...content)
  card.hidden = false
  link.setAttribute('aria-describedby', card.id)
  place(link)
}

async function contentOf(id: string): Promise<HTMLElement[] | undefined> {
  const node = await fetchJson<Node>(`nodes/${id}`)
  if (!node) return undefined
  const { title, text_content: text, properties, num_children: below, num_connections: met } = node
  const { description: lede } = properties
  const words = typeof lede === 'string' && lede.trim() ? lede.slice(0, most.text) : excerpt(text, most.text)
  const said = { h2: title, p: words, small: countsOf(below, met) }
  const parts = Object.entries(said)
    .filter(([, one]) => one !== '')
    .map(([name, one]) => Object.assign(document.createElement(name), { textContent: one }))
  const picture = text.includes('![') && (await pictureOf(id))
  return picture ? [picture, ...parts] : parts
}

/** Returns the first picture of the text that is a file of the node. Without its size, the card would move. */
async function pictureOf(id: string): Promise<HTMLElement | undefined> {
  const late = new Promise<undefined>((done) => setTimeout(done, waits.picture))
  const found = await Promise.race([fetchJson<Links>(`nodes/${id}/links`), late])
  // Only pictures have a size.
  const link = found?.links.find(({ embeds, file }) => embeds && file?.width && file.height)
  const { path = '', width = 0, height = 0 } = link?.file ?? {}
  if (!width) return undefined
  const scale = Math.min(1, box.width / width, box.height / height)
  return Object.assign(document.createElement('img'), {
    ...{ alt: '', loading: 'lazy', width: Math.ceil(width * scale), height: Math.ceil(height * scale) },
    src: rawPath(id, path),
  })
}

function countsOf(below: number, met: number): string {
  const counted = (count: number, one: string) => `${count.toLocaleString('en')} ${one}${count === 1 ? '' : 's'}`
  return [below > 0 && counted(below, 'subpage'), met > 0 && counted(met, 'link')].filter(Boolean).join(' · ')
}

/** Places the card below the link, or above it if there is no room. */
function place(link: HTMLAnchorElement): void {
  // If the link spans several lines, the first one counts.
  const [at = link.getBoundingClientRect()] = link.getClientRects()
  const { offsetWidth: width, offsetHeight: height } = card
  const isBelow = at.bottom + gap + height <= innerHeight || at.top < height + gap
  const left = Math.max(gap, Math.min(at.left, document.documentElement.clientWidth - width - gap))
  card.style.left = `${left + scrollX}px`
  card.style.top = `${(isBelow ? at.bottom + gap : at.top - gap - height) + scrollY}px`
}

function scheduleClose(): void {
  clearTimeout(timer)
  timer = setTimeout(close, waits.close)
}

function close(): void {
  clearTimeout(timer)
  current?.removeAttribute('aria-describedby')
  current = undefined
  card.hidden = true
}
