/** The colours of the style sheet, for drawing on a canvas. */

import { slots } from './areas.ts'

export interface Colours {
  readonly ink: string
  readonly paper: string
  /** Colours by slot. `dim`: the same, dimmed. */
  readonly of: readonly string[]
  readonly dim: readonly string[]
  /** The colour of nodes outside all parts. `restDim`: the same, dimmed. */
  readonly rest: string
  readonly restDim: string
}

/** Share of the colour that is left when it is dimmed. */
const share = 0.28

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
  const dim = (colour: string) => mixed(colour, paper)
  return { ink, paper, rest, restDim: dim(rest), of, dim: of.map(dim) }
}

/** Calls `act` when the theme changes. */
export function watchColours(act: () => void): void {
  new MutationObserver(act).observe(document.documentElement, { attributeFilter: ['data-theme'] })
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', act)
}

/** Mixes two colours, each `#rgb` or `#rrggbb`. */
function mixed(colour: string, paper: string): string {
  const [one, other] = [parts(colour), parts(paper)]
  const sum = one.map((value, at) => Math.round(value * share + (other[at] ?? 0) * (1 - share)))
  return `#${sum.map((value) => value.toString(16).padStart(2, '0')).join('')}`
}

function parts(colour: string): number[] {
  const digits = colour.slice(1)
  const long = digits.length === 3 ? [...digits].map((one) => one + one).join('') : digits
  return [0, 2, 4].map((at) => Number.parseInt(long.slice(at, at + 2), 16))
}
