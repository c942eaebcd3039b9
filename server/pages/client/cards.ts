/** A card for a link to a node: title, first words, and counts. The link works without it. */

import type { Schemas } from '../../../spec/client/api.ts'
import { excerpt } from './excerpt.ts'
import { fetchJson } from './fetch.ts'

type Node = Schemas['NodeDetails']

/** Milliseconds until a card opens or closes. The pointer needs time to move from the link to the card. */
const waits = { open: 150, close: 200 } as const
/** Maximum cached answers; maximum characters of the text. */
const most = { kept: 50, text: 180 } as const
/** Pixels between link and card, and between card and window. */
const gap = 8

/** Nodes by id; undefined if the user cannot read the node. */
const known = new Map<string, Promise<Node | undefined>>()
let current: HTMLAnchorElement | undefined
let timer: ReturnType<typeof setTimeout> | undefined
const card = document.createElement('div')
Object.assign(card, { id: 'card', className: 'hover-card', role: 'tooltip', hidden: true })
document.querySelector('main')?.append(card)

card.addEventListener('pointerenter', () => clearTimeout(timer))
card.addEventListener('pointerleave', scheduleClose)
document.addEventListener('keydown', ({ key }) => key === 'Escape' && close())

/** Opens the card if `link` keeps the pointer or the focus. A touch follows the link instead. */
export function cardOf(link: HTMLAnchorElement, event: Event): void {
  const id = event instanceof PointerEvent && event.pointerType === 'touch' ? undefined : nodeOf(link)
  if (link === current || id === undefined || id === nodeOf(location)) return
  close()
  current = link
  for (const type of ['pointerleave', 'blur']) link.addEventListener(type, scheduleClose, { once: true })
  timer = setTimeout(() => void open(link, id), waits.open)
}

/** Returns the id of the node in the URL of a page. */
function nodeOf({ pathname }: Location | HTMLAnchorElement): string | undefined {
  return /\/n\/([^/]+)/.exec(pathname)?.[1]
}

async function open(link: HTMLAnchorElement, id: string): Promise<void> {
  const asked = known.get(id) ?? fetchJson<Node>(`nodes/${id}`)
  if (known.size === most.kept) known.clear()
  known.set(id, asked)
  const node = await asked
  if (!node || current !== link) return
  card.replaceChildren(...contentOf(node))
  card.hidden = false
  link.setAttribute('aria-describedby', card.id)
  place(link)
}

function contentOf({ title, text_content, num_children: below, num_connections: met }: Node): HTMLElement[] {
  const said = { h2: title, p: excerpt(text_content, most.text), small: countsOf(below, met) }
  return Object.entries(said)
    .filter(([, text]) => text !== '')
    .map(([name, text]) => Object.assign(document.createElement(name), { textContent: text }))
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
