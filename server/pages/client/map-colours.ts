/** The colours of the style sheet, for drawing on a canvas. */

import { slots } from './areas.ts'

/** Colours by slot, and the grey of all else. */
export interface Shades {
  readonly of: readonly string[]
  readonly rest: string
}

export interface Colours {
  readonly ink: string
  readonly paper: string
  /** Colours by slot. `dim`: the same, dimmed. */
  readonly of: readonly string[]
  readonly dim: readonly string[]
  /** The grounds of areas by slot. */
  readonly ground: readonly string[]
  /** The colours of links. If a node is selected, all others are faint. */
  readonly line: Shades
  readonly faint: Shades
  /** The colour of nodes outside all parts. `restDim`: the same, dimmed. */
  readonly rest: string
  readonly restDim: string
}

/** Shares of the colour that are left. */
const shares = { dim: 0.28, line: 0.42, faint: 0.1, ground: 0.08 } as const

export function readColours(): Colours {
  const probe = document.createElement('i')
  probe.hidden = true
  document.body.append(probe)
  const read = (name: string) => getComputedStyle(probe).getPropertyValue(name).trim()
  const [ink, paper, rest] = [read('--ink'), read('--paper'), read('--ink3')]
  const of = Array.from({ length: slots }, (_, slot) => {
    probe.dataset.c = String(slot)
    return read('--c')
  })
  probe.remove()
  const share = (part: number) => ({ of: of.map((one) => mixed(one, paper, part)), rest: mixed(rest, paper, part) })
  const [dim, line, faint] = [share(shares.dim), share(shares.line), share(shares.faint)]
  return { ink, paper, rest, of, dim: dim.of, restDim: dim.rest, line, faint, ground: share(shares.ground).of }
}

/** Calls `act` when the theme changes. */
export function watchColours(act: () => void): void {
  new MutationObserver(act).observe(document.documentElement, { attributeFilter: ['data-theme'] })
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', act)
}

/** Mixes two colours, each `#rgb` or `#rrggbb`. */
function mixed(colour: string, paper: string, share: number): string {
  const [one, other] = [parts(colour), parts(paper)]
  const sum = one.map((value, at) => Math.round(value * share + (other[at] ?? 0) * (1 - share)))
  return `#${sum.map((value) => value.toString(16).padStart(2, '0')).join('')}`
}

function parts(colour: string): number[] {
  const digits = colour.slice(1)
  const long = digits.length === 3 ? [...digits].map((one) => one + one).join('') : digits
  return [0, 2, 4].map((at) => Number.parseInt(long.slice(at, at + 2), 16))
}

/** Returns the more legible of two colours on a ground. The first is preferred if it has a contrast of 3.5. */
export function legible(first: string, second: string, ground: string): string {
  const contrast = (one: string) => {
    const [high = 0, low = 0] = [brightness(one), brightness(ground)].sort((a, b) => b - a)
    return (high + 0.05) / (low + 0.05)
  }
  return contrast(first) >= 3.5 || contrast(first) > contrast(second) ? first : second
}

/** The relative luminance of WCAG 2. */
function brightness(colour: string): number {
  const [red = 0, green = 0, blue = 0] = parts(colour).map((value) => {
    const share = value / 255
    return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
