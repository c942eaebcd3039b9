/** Names on the map: of dots on the canvas, of areas above it. */

import type { MultiGraph } from 'graphology'
import type Sigma from 'sigma'
import type { NodeLabelDrawingFunction } from 'sigma/rendering'
import { type Area, nameOfArea, partOfEach, partsOf } from './areas.ts'
import { pixelsOfUnit } from './map-dots.ts'

/** Pixels. `named`, `inside`: smallest radius of a dot with a name, and with its name inside. `line`: line height. */
const dotPixels = { named: 20, inside: 30, line: 14 } as const
/** Maximum lines of a name inside its dot. `longWord`: factor by which a single word may be wider than a line. */
const mostLines = 4
const longWord = 1.25
/** Label density and cell size. If dots are small, few names are drawn, so that dots stay visible. */
const spread = { few: [0.5, 140], all: [1, 2 * dotPixels.inside] } as const

export const namedFrom: number = dotPixels.named
/** The initial settings, for small dots. */
export const fewNames = { labelDensity: spread.few[0], labelGridCellSize: spread.few[1] }

/**
 * Maximum names of areas at once. `radius`: smallest radius of a disk with a name. `row` and `letter`: the height of a row and
 * the width of a letter. `least`: smallest half width of a name.
 */
const mostAreas = 40
const areaPixels = { radius: 26, row: 24, letter: 8.5, least: 60 } as const

/** True if names are inside their dots. */
export type AreInside = () => boolean

/**
 * Draws all names if they fit inside their dots, else only some. `above`: names of dots that are above the canvas until they
 * fit inside.
 */
export function spreadNames(
  sigma: Sigma,
  graph: MultiGraph,
  smallest: number,
  above: ReadonlyMap<string, string>,
): AreInside {
  let isInside = false
  const follow = () => {
    const now = smallest * pixelsOfUnit(sigma) >= dotPixels.inside
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

/** Writes a name into its dot. A small dot has it on the right or left. */
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
    if (size >= dotPixels.inside) {
      const lines = wrapped(
        label,
        1.65 * size,
        Math.min(mostLines, Math.floor((1.2 * size) / dotPixels.line)),
        lengthOf,
      )
      for (const [at, line] of lines.entries()) write(line, x, y + 4 + (at - (lines.length - 1) / 2) * dotPixels.line)
      return
    }
    const half = lengthOf(label) / 2
    const isBeside = x + size + 2 * half + 7 < widthOf()
    write(label, isBeside ? x + size + 3 + half : x - size - 3 - half, y + 4)
  }
}

/** Wraps words into at most `most` lines and shortens the last one. */
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

/**
 * Draws the names of the largest visible disks, without overlaps.
 *
 * @param dotOf the position of the area's own dot, where its name is drawn if the disk fills the view
 */
export function nameAreas(
  sigma: Sigma,
  canvas: HTMLElement,
  areas: readonly Area[],
  areInside: AreInside,
  dotOf: (area: Area) => { readonly x: number; readonly y: number },
): void {
  const layer = document.createElement('div')
  layer.className = 'names'
  canvas.append(layer)
  const parts = new Set(partsOf(areas))
  const part = partOfEach(areas, [...parts])
  // A single area without a node is the whole map, so it needs no name.
  const isWhole = areas.length === 1 && areas[0]?.node_id === undefined
  const named = isWhole ? [] : [...areas.keys()].filter((at) => (part[at] ?? -1) >= 0)
  const largest = named.sort((a, b) => (areas[b]?.r ?? 0) - (areas[a]?.r ?? 0))
  const spans: HTMLElement[] = []
  const place = () => {
    const { width, height } = sigma.getDimensions()
    const taken: { readonly x: number; readonly y: number; readonly half: number }[] = []
    for (const at of largest) {
      const area = areas[at]
      // If dots contain names, the dots of areas do so too.
      if (!area || taken.length === mostAreas || areInside()) break
      const middle = sigma.graphToViewport({ x: area.x, y: -area.y })
      const r = Math.abs(sigma.graphToViewport({ x: area.x + area.r, y: -area.y }).x - middle.x)
      const { x, y } = r < 0.5 * Math.max(width, height) ? middle : sigma.graphToViewport(dotOf(area))
      if (r < areaPixels.radius) break
      const name = nameOfArea(area, areas)
      const whole = (Math.min(name.length, 28) * areaPixels.letter) / 2
      // A name much wider than its disk does not help. Names of parts are always drawn, as wide as there is room.
      const isFitting = whole < 1.4 * r || parts.has(at)
      const half = Math.min(whole, Math.max(1.4 * r, areaPixels.least), x, width - x)
      const isSeen = x > 0 && y > 0 && x < width && y < height
      const isFree = taken.every(
        (other) => Math.abs(other.y - y) >= areaPixels.row || Math.abs(other.x - x) > other.half + half,
      )
      if (!isSeen || !isFree || !isFitting) continue
      const span = spans[taken.length] ?? layer.appendChild(document.createElement('span'))
      spans[taken.length] = span
      taken.push({ x, y, half })
      span.textContent = name
      span.className = area.within < 0 || r > 110 ? 'l1' : 'l2'
      span.hidden = false
      span.style.maxWidth = whole > half ? `${2 * half}px` : ''
      span.style.transform = `translate(${x}px, ${y}px) translate(-50%, -50%)`
    }
    for (const span of spans.slice(taken.length)) span.hidden = true
  }
  sigma.on('afterRender', place)
  place()
}
