/** Wraps names into lines and writes them on a canvas. */

/** Pixels: height of a line, width of a name below its dot. Lines: of a name inside, and below. `hover`: characters. */
export const longest = { hover: 120 } as const
const line = { height: 14, below: 128 } as const
const most = { inside: 4, below: 2 } as const
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

export class NameWriter {
  private readonly context: CanvasRenderingContext2D
  private readonly colours: () => { readonly paper: string; readonly ink: string }
  private readonly known = new Map<string, WrappedName>()

  constructor(context: CanvasRenderingContext2D, colours: () => { readonly paper: string; readonly ink: string }) {
    this.context = context
    this.colours = colours
    // Widths change when the font arrives.
    document.fonts.addEventListener('loadingdone', () => this.known.clear())
  }

  /** Sets font and colours. The canvas forgets them when its size changes. */
  begin(): void {
    const { paper, ink } = this.colours()
    const look = { font: '500 12px Inter, system-ui, sans-serif', lineWidth: 4, lineJoin: 'round', textAlign: 'center' }
    Object.assign(this.context, look, { strokeStyle: paper, fillStyle: ink })
  }

  /** Wraps a name for a dot of this radius. */
  inside(text: string, radius: number): WrappedName {
    return this.wrapped(text, 1.65 * radius, Math.min(most.inside, Math.floor((1.25 * radius) / line.height)))
  }

  below(text: string): WrappedName {
    return this.wrapped(text, line.below, most.below)
  }

  /** Writes the lines around this middle. */
  write({ lines }: WrappedName, x: number, y: number): void {
    for (const [at, text] of lines.entries()) {
      const base = y + 4 + (at - (lines.length - 1) / 2) * line.height
      this.context.direction = directionOf(text)
      this.context.strokeText(text, x, base)
      this.context.fillText(text, x, base)
    }
  }

  private wrapped(text: string, length: number, mostLines: number): WrappedName {
    const key = `${Math.round(length)} ${text}`
    const known = this.known.get(key)
    if (known) return known
    const lengthOf = (part: string) => this.context.measureText(part).width
    const lines = wrap(text, length, mostLines, lengthOf)
    const width = Math.max(...lines.map(lengthOf), 0)
    const isWhole = lines.join(' ') === text.trim().replace(/\s+/g, ' ')
    const name = { lines, width, height: lines.length * line.height, isWhole }
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
