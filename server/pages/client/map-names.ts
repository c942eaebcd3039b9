/** Names on the map: of dots on the canvas, of areas above it. No name covers another one. */

import type Sigma from 'sigma'
import type { NodeHoverDrawingFunction } from 'sigma/rendering'
import { type Area, nameOfArea, partOfEach, partsOf } from './areas.ts'
import { type Dots, pixelsOfUnit } from './map-dots.ts'
import { type Box, DotGrid } from './map-grid.ts'
import { directionOf, longest, NameWriter } from './map-text.ts'

/**
 * Pixels. `named`, `inside`: smallest radius of a dot with a name, and with its name inside. `below`: from the rim to the
 * name. `scale`: smallest number of pixels of a unit at which names of dots are searched for.
 */
const dotPixels = { named: 6, inside: 22, below: 3, scale: 0.25 } as const
/** The most names of dots at once, and the most that are tried. */
const mostDots = { named: 400, tried: 3_000 } as const

/**
 * Maximum names of areas at once. `radius`: smallest radius of a disk with a name. `row` and `letter`: the height of a row and
 * the width of a letter. `least`: smallest half width of a name.
 */
const mostAreas = 40
const areaPixels = { radius: 26, row: 24, letter: 8.5, least: 60 } as const

/** Draws the names after each rendering, first those of areas. `smallest`: the radius of the smallest dot. */
export function drawNames(
  sigma: Sigma,
  canvas: HTMLElement,
  areas: readonly Area[],
  dots: Dots,
  smallest: number,
): void {
  const context = sigma.getCanvases().labels?.getContext('2d')
  if (!context) return
  const nameAreas = areaNames(sigma, canvas, areas)
  const nameDots = dotNames(sigma, dots, new NameWriter(context, () => dots.colours))
  const draw = () => {
    // If all dots contain their names, the dots of areas do so too.
    const areAllInside = smallest * pixelsOfUnit(sigma) >= dotPixels.inside
    const { taken, named } = nameAreas(areAllInside)
    nameDots(taken, named)
  }
  sigma.on('afterRender', draw)
  sigma.refresh()
}

type NameDots = (taken: Box[], namedAreas: ReadonlySet<string>) => void

/** Names the dots where there is room. Selected and found ones come first, then those with most edges. */
function dotNames(sigma: Sigma, dots: Dots, writer: NameWriter): NameDots {
  const { graph } = dots
  const grid = new DotGrid(graph)
  /** Returns true if the name was drawn. */
  const name = (node: string, scale: number, taken: Box[], isChosen: boolean): boolean => {
    const { x: left, y: top, size, label } = graph.getNodeAttributes(node)
    if (!label) return false
    const r = size * scale
    const { x, y } = sigma.graphToViewport({ x: left, y: top })
    const { width, height } = sigma.getDimensions()
    if (x < -r || y < -r || x > width + r || y > height + r) return false
    const inside = r >= dotPixels.inside ? writer.inside(label, r) : undefined
    const below = () => {
      const name = writer.below(label)
      const half = name.width / 2
      const middle = Math.min(Math.max(x, half + 2), width - half - 2)
      const from = y + r + dotPixels.below
      return {
        name,
        x: middle,
        box: { left: middle - half, right: middle + half, top: from, bottom: from + name.height },
      }
    }
    const isFree = (box: Box) => taken.every((other) => !meet(box, other))
    if (inside?.isWhole !== true) {
      const { name, x: middle, box } = below()
      const isClear = isChosen || !grid.meets(node, box, (at) => sigma.viewportToGraph(at), scale)
      if (isClear && box.bottom <= height && (node === dots.focus || isFree(box))) {
        taken.push(box)
        writer.write(name, middle, box.top + name.height / 2)
        return true
      }
    }
    if (!inside) return false
    const box = {
      left: x - inside.width / 2,
      right: x + inside.width / 2,
      top: y - inside.height / 2,
      bottom: y + inside.height / 2,
    }
    if (!isFree(box)) return false
    taken.push(box)
    writer.write(inside, x, y)
    return true
  }
  return (taken, namedAreas) => {
    writer.begin()
    const scale = pixelsOfUnit(sigma)
    const chosen = dots.chosen()
    const isNamed = (node: string) => namedAreas.has(dots.idOf(node)) && node !== dots.focus
    let [named, tried] = [0, 0]
    const each = (node: string, isChosen: boolean): boolean => {
      if (!isNamed(node) && name(node, scale, taken, isChosen)) named++
      return named < mostDots.named && ++tried < mostDots.tried
    }
    if (chosen) for (const node of chosen) each(node, true)
    else if (scale >= dotPixels.scale) {
      const { width, height } = sigma.getDimensions()
      const view = { left: 0, top: 0, right: width, bottom: height }
      const seen = grid.within(view, (at) => sigma.viewportToGraph(at), dotPixels.named / scale)
      seen.every((node) => each(node, false))
    }
  }
}

function meet(one: Box, other: Box): boolean {
  return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom
}

/** Writes the whole name of a dot under the pointer on a plate below it. */
export function hoverName(
  widthOf: () => number,
  colours: () => { readonly paper: string; readonly ink: string },
): NodeHoverDrawingFunction {
  return (context, { x, y, size, label }) => {
    if (!label) return
    const { paper, ink } = colours()
    context.font = '500 12px Inter, system-ui, sans-serif'
    const text = label.length > longest.hover ? `${label.slice(0, longest.hover).trimEnd()}…` : label
    const half = context.measureText(text).width / 2 + 7
    const middle = Math.min(Math.max(x, half + 2), widthOf() - half - 2)
    const top = y + size + 2
    Object.assign(context, { fillStyle: paper, strokeStyle: ink, lineWidth: 1, textAlign: 'center' })
    context.beginPath()
    context.roundRect(middle - half, top, 2 * half, 22, 5)
    context.fill()
    context.globalAlpha = 0.25
    context.stroke()
    context.globalAlpha = 1
    context.fillStyle = ink
    context.direction = directionOf(text)
    context.fillText(text, middle, top + 15)
  }
}

interface NamedAreas {
  readonly taken: Box[]
  /** Ids of the nodes of named areas. */
  readonly named: ReadonlySet<string>
}

/** Returns a function that names the largest visible disks, above their upper rims. */
function areaNames(sigma: Sigma, canvas: HTMLElement, areas: readonly Area[]): (areAllInside: boolean) => NamedAreas {
  const layer = document.createElement('div')
  layer.className = 'names'
  canvas.append(layer)
  const parts = new Set(partsOf(areas))
  const part = partOfEach(areas, [...parts])
  // A single area without a node is the whole map, so it needs no name.
  const isWhole = areas.length === 1 && areas[0]?.node_id === undefined
  const shown = isWhole ? [] : [...areas.keys()].filter((at) => (part[at] ?? -1) >= 0)
  const largest = shown.sort((a, b) => (areas[b]?.r ?? 0) - (areas[a]?.r ?? 0))
  const spans: HTMLElement[] = []
  return (areAllInside) => {
    const { width, height } = sigma.getDimensions()
    const scale = pixelsOfUnit(sigma)
    const taken: Box[] = []
    const named = new Set<string>()
    for (const at of areAllInside ? [] : largest) {
      const area = areas[at]
      const r = (area?.r ?? 0) * scale
      if (!area || taken.length === mostAreas || r < areaPixels.radius) break
      const middle = sigma.graphToViewport({ x: area.x, y: -area.y })
      // Above the disk, so that the name covers few of its dots.
      const [x, y] = [middle.x, Math.max(middle.y - r - areaPixels.row / 3, areaPixels.row / 2)]
      const name = nameOfArea(area, areas)
      const whole = (Math.min(name.length, 28) * areaPixels.letter) / 2
      // A name much wider than its disk does not help. Names of parts are always drawn, as wide as there is room.
      const isFitting = whole < 1.4 * r || parts.has(at)
      const half = Math.min(whole, Math.max(1.4 * r, areaPixels.least), x, width - x)
      const isSeen = x > 0 && x < width && y < height && middle.y + r > 0
      const box = { left: x - half, right: x + half, top: y - areaPixels.row / 2, bottom: y + areaPixels.row / 2 }
      if (!isSeen || !isFitting || taken.some((other) => meet(box, other))) continue
      const span = spans[taken.length] ?? layer.appendChild(document.createElement('span'))
      spans[taken.length] = span
      taken.push(box)
      named.add(area.node_id ?? '')
      span.textContent = name
      span.dir = 'auto'
      span.className = area.within < 0 || r > 110 ? 'l1' : 'l2'
      span.hidden = false
      span.style.maxWidth = whole > half ? `${2 * half}px` : ''
      span.style.transform = `translate(${x}px, ${y}px) translate(-50%, -50%)`
    }
    for (const span of spans.slice(taken.length)) span.hidden = true
    return { taken, named }
  }
}
