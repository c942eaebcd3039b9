/** Names on the map. No name covers another one, or a dot that it does not name. */

import { type Area, nameOfArea, partsOf } from './areas.ts'
import { type Box, type Camera, meet, type Point } from './map-camera.ts'
import { legible } from './map-colours.ts'
import type { Dots } from './map-dots.ts'
import type { Stretched } from './map-layout.ts'
import { directionOf, fonts, longest, NameWriter, type WrappedName } from './map-text.ts'

/**
 * Pixels. `named`, `inside`: smallest radius of a dot with a name, and with its name inside. `below`: from the rim to the
 * name. `scale`: smallest number of pixels of a unit at which names of dots are searched for.
 */
const dotPixels = { named: 6, inside: 22, below: 3, scale: 0.25 } as const
/** The most names of dots at once, and the most that are tried. */
const mostDots = { named: 400, tried: 3_000 } as const

/** The most names of areas at once, and the most that are tried. Pixels: the smallest half height of a disk with a name, the least room for a name. */
const mostAreas = { named: 40, tried: 80 } as const
const areaPixels = { radius: 26, least: 130 } as const

/** Returns a function that draws the names in two steps, first those of areas. */
export function nameDrawer(context: CanvasRenderingContext2D, camera: Camera, dots: Dots, layout: Stretched) {
  const nameAreas = areaNames(context, camera, dots, layout)
  const nameDots = dotNames(context, camera, dots)
  const smallest = dots.map.weight.reduce((least, size) => Math.min(least, size), Infinity)
  return function* () {
    const taken: Box[] = []
    // If all dots contain their names, the dots of areas do so too.
    const areAllInside = smallest * camera.scale >= dotPixels.inside
    const named = areAllInside ? new Set<number>() : nameAreas(taken)
    yield
    nameDots(taken, named)
  }
}

/** Names the dots where there is room. Selected and found ones come first, then those with most edges. */
function dotNames(context: CanvasRenderingContext2D, camera: Camera, dots: Dots) {
  const { map, grid } = dots
  const writer = new NameWriter(context, fonts.dot)
  /** Draws the name inside its dot or below. Returns true if there is room. */
  const name = (node: number, taken: Box[], isChosen: boolean): boolean => {
    const label = dots.labels[node]
    const r = (map.weight[node] ?? 0) * camera.scale
    const middle = camera.toScreen({ x: map.x[node] ?? 0, y: map.y[node] ?? 0 })
    const { width, height } = camera
    if (!label || !meet(boxAround(middle, 2 * r, 2 * r), { left: 0, right: width, top: 0, bottom: height }))
      return false
    const isFree = (box: Box) => taken.every((other) => !meet(box, other))
    const inside = r >= dotPixels.inside ? writer.inside(label, r) : undefined
    const { ink, paper } = dots.colours
    if (inside?.isWhole !== true) {
      const below = writer.below(label)
      const at = { x: within(middle.x, below.width, width), y: middle.y + r + dotPixels.below + below.height / 2 }
      const box = boxAround(at, below.width, below.height)
      const isClear = isChosen || grid.covered(onMap(camera, box)).every((one) => one === node)
      if (isClear && box.bottom <= height && (node === dots.focus || isFree(box))) {
        taken.push(box)
        writer.write(below, at, ink, paper)
        return true
      }
    }
    const box = inside && boxAround(middle, inside.width, inside.height)
    if (!inside || !box || !isFree(box)) return false
    taken.push(box)
    writer.write(inside, middle, legible(paper, ink, dots.colourOf(node)))
    return true
  }
  return (taken: Box[], namedAreas: ReadonlySet<number>) => {
    const { scale } = camera
    const chosen = dots.chosen()
    let [named, tried] = [0, 0]
    const each = (node: number, isChosen: boolean): boolean => {
      if ((node === dots.focus || !namedAreas.has(node)) && name(node, taken, isChosen)) named++
      return named < mostDots.named && ++tried < mostDots.tried
    }
    if (chosen) for (const node of chosen) each(node, true)
    else if (scale >= dotPixels.scale)
      grid.within(camera.view(), dotPixels.named / scale).every((node) => each(node, false))
  }
}

/** Returns a function that names the largest visible disks. It returns the nodes with these names. */
function areaNames(context: CanvasRenderingContext2D, camera: Camera, dots: Dots, layout: Stretched) {
  const { areas } = layout.map
  const parts = new Set(partsOf(areas))
  const writers = { part: new NameWriter(context, fonts.part), area: new NameWriter(context, fonts.area) }
  // A single area without a node is the whole map, so it needs no name. Nor do those around all parts.
  const isWhole = areas.length === 1 && areas[0]?.node_id === undefined
  const around = new Set([...parts].flatMap((part) => chainOf(areas, part).slice(1)))
  const shown = isWhole ? [] : [...areas.keys()].filter((at) => !around.has(at))
  const largest = shown.sort((a, b) => (areas[b]?.r ?? 0) - (areas[a]?.r ?? 0))
  const isInside = (node: number, area: number) => chainOf(areas, dots.map.area[node] ?? -1).includes(area)
  return (taken: Box[]): ReadonlySet<number> => {
    const named = new Set<number>()
    for (const at of largest.slice(0, mostAreas.tried)) {
      const area = areas[at]
      const [rx, ry] = [layout.x, layout.y].map((by) => (area?.r ?? 0) * by * camera.scale)
      if (!area || !rx || !ry || taken.length === mostAreas.named || ry < areaPixels.radius) break
      const writer = dots.slotOf(at) !== undefined && parts.has(at) ? writers.part : writers.area
      const name = writer.line(nameOfArea(area, areas), Math.max(2 * rx, areaPixels.least))
      const middle = camera.toScreen(area)
      const isFree = (box: Box) =>
        isVisible(box, camera) &&
        taken.every((other) => !meet(box, other)) &&
        dots.grid.covered(onMap(camera, box)).every((node) => isInside(node, at))
      const boxes = placesOf(middle, ry, name, camera)
      const box = boxes.find(isFree)
      if (!box) continue
      taken.push(box)
      const node = dots.places.get(area.node_id ?? '')
      if (node !== undefined) named.add(node)
      const { ink, paper } = dots.colours
      writer.write(name, { x: (box.left + box.right) / 2, y: (box.top + box.bottom) / 2 }, ink, paper)
    }
    return named
  }
}

/** The places for the name of a disk. Its upper rim is best, then its lower one. */
function placesOf({ x, y }: Point, ry: number, { width, height }: WrappedName, camera: Camera): Box[] {
  const middle = within(x, width, camera.width)
  const half = height / 2
  return [-ry - half, -ry + half, ry + half, ry - half, 0].map((down) =>
    boxAround({ x: middle, y: y + down }, width, height),
  )
}

/** An area and those around it, from inside. */
function chainOf(areas: readonly Area[], area: number): number[] {
  const chain: number[] = []
  for (let at = area; at >= 0; at = areas[at]?.within ?? -1) chain.push(at)
  return chain
}

function boxAround({ x, y }: Point, width: number, height: number): Box {
  return { left: x - width / 2, right: x + width / 2, top: y - height / 2, bottom: y + height / 2 }
}

function onMap(camera: Camera, { left, right, top, bottom }: Box): Box {
  const [from, to] = [camera.toMap({ x: left, y: top }), camera.toMap({ x: right, y: bottom })]
  return { left: from.x, right: to.x, top: from.y, bottom: to.y }
}

function isVisible({ left, right, top, bottom }: Box, { width, height }: Camera): boolean {
  return left >= 0 && top >= 0 && right <= width && bottom <= height
}

/** Moves a middle so that a name of this width is within the canvas. */
function within(x: number, width: number, room: number): number {
  return Math.min(Math.max(x, width / 2 + 2), room - width / 2 - 2)
}

/** Writes the whole name of a dot under the pointer on a plate below it. */
export function drawHover(context: CanvasRenderingContext2D, camera: Camera, dots: Dots, node: number): void {
  const label = dots.labels[node]
  if (!label) return
  const { map, colours } = dots
  const { x, y } = camera.toScreen({ x: map.x[node] ?? 0, y: map.y[node] ?? 0 })
  const text = label.length > longest.hover ? `${label.slice(0, longest.hover).trimEnd()}…` : label
  const look = { fillStyle: colours.paper, strokeStyle: colours.ink, lineWidth: 1, textAlign: 'center' } as const
  Object.assign(context, look, { font: fonts.dot.font, direction: directionOf(text) })
  const width = context.measureText(text).width + 14
  const middle = within(x, width, camera.width)
  const top = y + (map.weight[node] ?? 0) * camera.scale + 2
  context.beginPath()
  context.roundRect(middle - width / 2, top, width, 22, 5)
  context.fill()
  context.globalAlpha = 0.25
  context.stroke()
  context.globalAlpha = 1
  context.fillStyle = colours.ink
  context.fillText(text, middle, top + 15)
}
