/** Wraps names into lines and writes them on a canvas. */

import type { Point } from './map-camera.ts'

/** Pixels: width of a name below its dot. Lines: of a name inside, and below. Characters of the name under a pointer. */
const width = { below: 128 } as const
const most = { inside: 4, below: 2 } as const
export const longest = { hover: 120 } as const
/** The factor by which a single word may be wider than a line. */
const longWord = 1.12

/** A name in lines, with its size in pixels. */
export interface WrappedName {
  readonly lines: readonly string[]
  readonly width: number
  readonly height: number
  /** True if nothing is cut. */
  readonly isWhole: boolean
}

/** A font of the canvas, with the height of its lines in pixels. */
export interface NameFont {
  readonly font: string
  readonly line: number
}

export const fonts = {
  dot: { font: '500 12px Inter, system-ui, sans-serif', line: 14 },
  area: { font: '550 13px Inter, system-ui, sans-serif', line: 17 },
  part: { font: '600 17px "Source Serif", Georgia, serif', line: 22 },
} as const satisfies Record<string, NameFont>

export class NameWriter {
  private readonly context: CanvasRenderingContext2D
  private readonly font: NameFont
  private readonly known = new Map<string, WrappedName>()

  constructor(context: CanvasRenderingContext2D, font: NameFont) {
    this.context = context
    this.font = font
    // Widths change when the font arrives.
    document.fonts.addEventListener('loadingdone', () => this.known.clear())
  }

  /** Wraps a name for a dot of this radius. */
  inside(text: string, radius: number): WrappedName {
    const lines = Math.min(most.inside, Math.floor((1.25 * radius) / this.font.line))
    return this.wrapped(text, 1.65 * radius, lines)
  }

  below(text: string): WrappedName {
    return this.wrapped(text, width.below, most.below)
  }

  /** Returns the name in one line, cut to this width. */
  line(text: string, length: number): WrappedName {
    return this.wrapped(text, length, 1)
  }

  /** Writes the lines around this middle. A halo separates them from what is below. */
  write({ lines }: WrappedName, { x, y }: Point, ink: string, halo?: string): void {
    const { context, font } = this
    const look = { font: font.font, lineWidth: 3, lineJoin: 'round', textAlign: 'center', fillStyle: ink } as const
    Object.assign(context, look, halo !== undefined && { strokeStyle: halo })
    for (const [at, text] of lines.entries()) {
      const base = y + font.line / 3.5 + (at - (lines.length - 1) / 2) * font.line
      context.direction = directionOf(text)
      if (halo !== undefined) context.strokeText(text, x, base)
      context.fillText(text, x, base)
    }
  }

  private wrapped(text: string, length: number, mostLines: number): WrappedName {
    const key = `${Math.round(length)} ${text}`
    const known = this.known.get(key)
    if (known) return known
    this.context.font = this.font.font
    const lengthOf = (part: string) => this.context.measureText(part).width
    const lines = wrap(text, length, mostLines, lengthOf)
    const width = Math.max(...lines.map(lengthOf), 0)
    const isWhole = lines.join(' ') === text.trim().replace(/\s+/g, ' ')
    const name = { lines, width, height: lines.length * this.font.line, isWhole }
    if (this.known.size > 5_000) this.known.clear()
    this.known.set(key, name)
    return name
  }
}

/** Returns the direction of a line, by its first letter. It decides on which side the ellipsis is. */
export function directionOf(text: string): 'rtl' | 'ltr' {
  return /^\P{L}*[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}]/u.test(text) ? 'rtl' : 'ltr'
}

/** Wraps words into at most `most` lines and shortens the last one. */
function wrap(text: string, length: number, mostLines: number, lengthOf: (text: string) => number): string[] {
  const lines: string[] = []
  let rest = text.trim().slice(0, 300)
  while (rest !== '' && lines.length < mostLines) {
    const isLast = lines.length === mostLines - 1
    const line =
      lengthOf(rest) <= length ? rest : isLast ? shortened(rest, length, lengthOf) : firstWords(rest, length, lengthOf)
    lines.push(line)
    rest = isLast ? '' : rest.slice(line.length).trimStart()
  }
  return lines
}

/** Returns the words that fit into the line. A single word may exceed it by `longWord`, else it is cut. */
function firstWords(text: string, length: number, lengthOf: (text: string) => number): string {
  const words = text.split(' ')
  let count = words.length
  while (count > 1 && lengthOf(words.slice(0, count).join(' ')) > length) count--
  const line = words.slice(0, count).join(' ')
  return lengthOf(line) <= length * longWord ? line : firstLetters(line, length, lengthOf)
}

function shortened(text: string, length: number, lengthOf: (text: string) => number): string {
  if (!text.includes(' ') && lengthOf(text) <= length * longWord) return text
  return `${firstLetters(text, length - lengthOf('…'), lengthOf).trimEnd()}…`
}

/** Returns the first letters that fit, at least one. */
function firstLetters(text: string, length: number, lengthOf: (text: string) => number): string {
  const letters = [...text.slice(0, 100)]
  while (letters.length > 1 && lengthOf(letters.join('')) > length) letters.pop()
  return letters.join('')
}
