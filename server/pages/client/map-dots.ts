/** How the dots of the map are fitted into it, and where their names stand. */

import type { MultiGraph } from 'graphology'
import type Sigma from 'sigma'
import type { NodeLabelDrawingFunction } from 'sigma/rendering'

/**
 * Pixels: the greatest radius of a dot as the map opens, the smallest one of a dot that is named, that of one with room for its
 * name inside, and the height of a line.
 */
const pixels = { open: 40, named: 20, inside: 30, line: 14 } as const
/** Lines of a name in its dot; how much longer a single word may be. */
const mostLines = 4
const longWord = 1.25
/** Names that may stand: where dots are small, few of them, so that they leave one another in sight. */
const spread = { few: [0.5, 140], all: [1, 2 * pixels.inside] } as const

export const namedFrom: number = pixels.named
/** As a map of small dots begins. */
export const fewNames = { labelDensity: spread.few[0], labelGridCellSize: spread.few[1] }

/** Fits whole dots, of which a few may be most of the map, and leaves room around few: no dot fills what is seen. */
export function fitDots(sigma: Sigma, graph: MultiGraph): void {
  const none: [number, number] = [Infinity, -Infinity]
  const ends = { x: none, y: none }
  let largest = 0
  graph.forEachNode((_, { x, y, size }) => {
    ends.x = [Math.min(ends.x[0], x - size), Math.max(ends.x[1], x + size)]
    ends.y = [Math.min(ends.y[0], y - size), Math.max(ends.y[1], y + size)]
    largest = Math.max(largest, size)
  })
  show(sigma, ends)
  const wider = (largest * pixelsOfUnit(sigma)) / pixels.open
  if (wider > 1) show(sigma, { x: widened(ends.x, wider), y: widened(ends.y, wider) })
}

function show(sigma: Sigma, box: { readonly x: [number, number]; readonly y: [number, number] }): void {
  sigma.setCustomBBox(box)
  // The box counts from the next time that nodes are processed; a frame that is only drawn leaves them where they were.
  sigma.refresh()
}

function widened([from, to]: [number, number], by: number): [number, number] {
  const [middle, half] = [(from + to) / 2, ((to - from) / 2) * by]
  return [middle - half, middle + half]
}

export function pixelsOfUnit(sigma: Sigma): number {
  return Math.abs(sigma.graphToViewport({ x: 1_000, y: 0 }).x - sigma.graphToViewport({ x: 0, y: 0 }).x) / 1_000
}

/** Whether names stand in their dots. */
export type AreInside = () => boolean

/**
 * All names where they have room inside their dots, some where they stand beside them. `above`: of dots whose names stand above
 * the canvas as long as they have no room inside.
 */
export function spreadNames(
  sigma: Sigma,
  graph: MultiGraph,
  smallest: number,
  above: ReadonlyMap<string, string>,
): AreInside {
  let isInside = false
  const follow = () => {
    const now = smallest * pixelsOfUnit(sigma) >= pixels.inside
    if (now === isInside) return
    isInside = now
    for (const [node, name] of above) graph.setNodeAttribute(node, 'label', now ? name : '')
    const [density, cell] = now ? spread.all : spread.few
    sigma.setSettings({ labelDensity: density, labelGridCellSize: cell })
  }
  sigma.getCamera().on('updated', follow)
  follow()
  return () => isInside
}

/** Writes a name into its dot, else beside it where the map has room. */
export function nameDots(
  widthOf: () => number,
  colours: () => { readonly paper: string; readonly ink: string },
): NodeLabelDrawingFunction {
  return (context, { x, y, size, label }) => {
    if (!label) return
    const { paper, ink } = colours()
    Object.assign(context, { font: '500 12px Inter, system-ui, sans-serif', lineWidth: 4, lineJoin: 'round' })
    Object.assign(context, { strokeStyle: paper, fillStyle: ink, textAlign: 'center' })
    const lengthOf = (text: string) => context.measureText(text).width
    const write = (text: string, at: number, line: number) => {
      context.strokeText(text, at, line)
      context.fillText(text, at, line)
    }
    if (size >= pixels.inside) {
      const lines = wrapped(label, 1.65 * size, Math.min(mostLines, Math.floor((1.2 * size) / pixels.line)), lengthOf)
      for (const [at, line] of lines.entries()) write(line, x, y + 4 + (at - (lines.length - 1) / 2) * pixels.line)
      return
    }
    const half = lengthOf(label) / 2
    const isBeside = x + size + 2 * half + 7 < widthOf()
    write(label, isBeside ? x + size + 3 + half : x - size - 3 - half, y + 4)
  }
}

/** The words in lines of this length, the last one shortened where there are more. */
function wrapped(text: string, length: number, most: number, lengthOf: (text: string) => number): string[] {
  const lines: string[] = []
  let rest = text.trim()
  while (rest !== '' && lines.length < most) {
    const isLast = lines.length === most - 1
    const line =
      lengthOf(rest) <= length ? rest : isLast ? shortened(rest, length, lengthOf) : firstWords(rest, length, lengthOf)
    lines.push(line)
    rest = isLast ? '' : rest.slice(line.length).trimStart()
  }
  return lines
}

/** A single word may be a little longer than the line; of one that is longer still, the letters that fit. */
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

/** One at the least. */
function firstLetters(text: string, length: number, lengthOf: (text: string) => number): string {
  const letters = [...text.slice(0, 100)]
  while (letters.length > 1 && lengthOf(letters.join('')) > length) letters.pop()
  return letters.join('')
}
