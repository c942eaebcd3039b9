/** A card beside a link to a node: its title, its first words, its numbers of nodes below and connections. The link works without it. */

import type { Schemas } from '../../../spec/client/api.ts'
import { excerpt } from './excerpt.ts'
import { fetchJson } from './fetch.ts'

type Node = Schemas['NodeDetails']

/** Milliseconds until a card opens, and until it closes after the pointer has gone: on its way to the card, say. */
const waits = { open: 150, close: 200 } as const
/** Answers that are kept; characters of the text. */
const most = { kept: 50, text: 180 } as const
/** Pixels between link and card, and between card and window. */
const gap = 8

/** Undefined where there is none to read. */
const known = new Map<string, Promise<Node | undefined>>()
let current: HTMLAnchorElement | undefined
let timer: ReturnType<typeof setTimeout> | undefined
const card = document.createElement('div')
Object.assign(card, { id: 'card', className: 'hover-card', role: 'tooltip', hidden: true })
document.querySelector('main')?.append(card)

card.addEventListener('pointerenter', () => clearTimeout(timer))
card.addEventListener('pointerleave', scheduleClose)
document.addEventListener('keydown', ({ key }) => key === 'Escape' && close())

/** Opens when `link` keeps the pointer or the focus that `event` brought. A finger follows the link. */
export function cardOf(link: HTMLAnchorElement, event: Event): void {
  const id = event instanceof PointerEvent && event.pointerType === 'touch' ? undefined : nodeOf(link)
  if (link === current || id === undefined || id === nodeOf(location)) return
  close()
  current = link
  for (const type of ['pointerleave', 'blur']) link.addEventListener(type, scheduleClose, { once: true })
  timer = setTimeout(() => void open(link, id), waits.open)
}

/** The node whose page, or one of whose pages, this is. */
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
  return [below > 0 && `${counted(below, 'node')} below`, met > 0 && counted(met, 'connection')]
    .filter(Boolean)
    .join(' · ')
}

/** Below the link, or above it where the window ends. */
function place(link: HTMLAnchorElement): void {
  // Of a link over several lines, the first.
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
