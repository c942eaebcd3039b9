/**
 * Draws the Mermaid diagrams of a page when they come into view.
 *
 * Mermaid runs in a sandboxed frame (`diagram-frame.ts`). Its answer, an SVG, is shown as an image, in which
 * nothing runs or loads. See decisions/0007-diagrams-in-a-sandbox.md.
 */

import * as limits from '../../base/limits.ts'
import { watchColours } from './map-colours.ts'

/** The message to the frame. */
export interface DiagramRequest {
  readonly id: number
  readonly source: string
  readonly isDark: boolean
  /** Colours of the style sheet by the names of its variables. */
  readonly colours: Readonly<Record<string, string>>
}

interface Drawn {
  readonly svg: string
  readonly width: number
  readonly height: number
  /** Words for readers who do not see it. */
  readonly label: string
}

type Outcome = Drawn | { readonly error: string }

/** Limits of an answer: UTF-16 units of its texts, and pixels. */
const most = { svg: 2_000_000, label: 300, error: 1_000, pixels: 20_000 } as const
/** Maximum outcomes kept. A preview is rendered again with each letter. */
const mostKept = 40
/** Share of its width to which a diagram shrinks on a narrow screen. Then it scrolls. */
const smallest = 0.6
/** Pixels before a diagram is in view. */
const ahead = '400px'
const names = [
  'paper',
  'sunken',
  'ink',
  'ink3',
  'line2',
  'accent',
  'on-accent',
  'accent-soft',
  'info',
  'info-ink',
  'warn-ink',
  'del-ink',
  'mark',
]

const known = new Map<string, Outcome>()
const followed = new WeakSet<Element>()
const drawn = new Set<HTMLElement>()
let frame: HTMLIFrameElement | undefined
let ready: Promise<void> | undefined
let last: Promise<unknown> = Promise.resolve()
let count = 0

const views = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting || !(target instanceof HTMLElement)) continue
      views.unobserve(target)
      void draw(target)
    }
  },
  { rootMargin: ahead },
)

watchColours(() => {
  for (const figure of drawn) {
    if (figure.isConnected) void draw(figure)
    else drawn.delete(figure)
  }
})

drawDiagrams(document)

/** Draws the diagrams in `root` as soon as they are in view. */
export function drawDiagrams(root: ParentNode): void {
  for (const figure of root.querySelectorAll('[data-diagram]')) {
    if (followed.has(figure)) continue
    followed.add(figure)
    views.observe(figure)
  }
}

async function draw(figure: HTMLElement): Promise<void> {
  drawn.add(figure)
  const source = figure.querySelector('code')?.textContent ?? ''
  const colours = readColours()
  const key = JSON.stringify([source, colours])
  const outcome = known.get(key) ?? (await inTurn(() => known.get(key) ?? ask(source, colours)))
  if (known.size >= mostKept) known.clear()
  known.set(key, outcome)
  // The theme may have changed since.
  if (figure.isConnected && JSON.stringify(readColours()) === JSON.stringify(colours)) show(figure, outcome)
}

/** Runs one drawing after the other. Mermaid cannot draw two at once. */
function inTurn<T>(work: () => T | Promise<T>): Promise<T> {
  const done = last.then(work)
  last = done.catch(() => {})
  return done
}

function show(figure: HTMLElement, outcome: Outcome): void {
  const details = figure.querySelector('details')
  const old = figure.querySelector(':scope > :not(details)')
  if ('error' in outcome) {
    const words = document.createElement('p')
    Object.assign(words, { className: 'why', textContent: `This diagram could not be drawn: ${outcome.error}` })
    old?.remove()
    figure.append(words)
    if (details) details.open = true
    return
  }
  const box = document.createElement('div')
  const image = new Image(outcome.width, outcome.height)
  image.alt = `${outcome.label}. Its source follows.`
  const url = URL.createObjectURL(new Blob([outcome.svg], { type: 'image/svg+xml' }))
  image.onload = image.onerror = () => URL.revokeObjectURL(url)
  image.src = url
  image.style.minWidth = `${Math.round(outcome.width * smallest)}px`
  // A wide diagram scrolls on a narrow screen, also by keys.
  Object.assign(box, { className: 'drawing', tabIndex: 0 })
  box.role = 'group'
  box.ariaLabel = 'Diagram'
  box.append(image)
  if (old instanceof HTMLDivElement) old.replaceWith(box)
  else {
    old?.remove()
    figure.prepend(box)
    if (details) details.open = false
  }
}

function readColours(): Record<string, string> {
  const style = getComputedStyle(document.documentElement)
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]))
}

async function ask(source: string, colours: DiagramRequest['colours']): Promise<Outcome> {
  const id = ++count
  const clock = new AbortController()
  const timer = setTimeout(() => clock.abort(), limits.diagramMs)
  try {
    frame ??= openFrame()
    await Promise.race([ready, aborted(clock.signal)])
    const answer = answerOf(id, clock.signal)
    const { theme } = document.documentElement.dataset
    const isDark = theme ? theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches
    const request: DiagramRequest = { id, source, isDark, colours }
    // The origin of a sandboxed frame has no name. The frame has no secrets, and the source of a diagram is not one.
    frame.contentWindow?.postMessage(request, '*')
    return await answer
  } catch {
    // The frame may be busy for ever. The next diagram gets another one.
    frame?.remove()
    frame = undefined
    return { error: 'it takes too long.' }
  } finally {
    clearTimeout(timer)
    clock.abort()
  }
}

function openFrame(): HTMLIFrameElement {
  const made = document.createElement('iframe')
  made.setAttribute('sandbox', 'allow-scripts')
  Object.assign(made, {
    src: `${document.body.dataset.root ?? ''}/assets/diagrams`,
    title: 'Diagrams',
    className: 'diagram-frame',
    tabIndex: -1,
  })
  made.ariaHidden = 'true'
  ready = new Promise((done) => {
    addEventListener('message', function hear({ source, data }) {
      if (source !== made.contentWindow || data !== 'ready') return
      removeEventListener('message', hear)
      done()
    })
  })
  document.body.append(made)
  return made
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, fail) => signal.addEventListener('abort', () => fail(signal.reason), { once: true }))
}

/** Waits for the answer with this id. Messages of other windows, and of another form, are ignored. */
function answerOf(id: number, signal: AbortSignal): Promise<Outcome> {
  return new Promise((done, fail) => {
    signal.addEventListener('abort', () => fail(signal.reason), { once: true })
    addEventListener(
      'message',
      ({ source, origin, data }: MessageEvent<unknown>) => {
        if (source !== frame?.contentWindow || origin !== 'null') return
        const outcome = readAnswer(id, data)
        if (outcome) done(outcome)
      },
      { signal },
    )
  })
}

function readAnswer(id: number, data: unknown): Outcome | undefined {
  if (typeof data !== 'object' || data === null || !('id' in data) || data.id !== id) return undefined
  const { svg, width, height, label, error } = data as Record<string, unknown> // each is checked next
  if (typeof error === 'string') return { error: error.slice(0, most.error) }
  const isSize = (value: unknown): value is number => typeof value === 'number' && value >= 1 && value <= most.pixels
  if (typeof svg !== 'string' || svg.length > most.svg || !isSize(width) || !isSize(height))
    return { error: 'it is too large.' }
  return { svg, width, height, label: typeof label === 'string' ? label.slice(0, most.label) : 'Diagram' }
}
