/** Names of areas above the canvas: those of the largest disks that are in sight, none where another stands. */

import type Sigma from 'sigma'
import { type Area, nameOfArea, partOfEach, partsOf } from './areas.ts'
import type { AreInside } from './map-dots.ts'

/** Names at once; pixels: the smallest radius of a disk that is named, the height of a row, the width of a letter, half of that of a name. */
const most = 40
const pixels = { radius: 26, row: 24, letter: 8.5, least: 60 } as const

/** `dotOf`: where the own dot of an area is, which bears its name where the disk fills what is seen. */
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
  // An area of all nodes is the map itself.
  const isWhole = areas.length === 1 && areas[0]?.node_id === undefined
  const named = isWhole ? [] : [...areas.keys()].filter((at) => (part[at] ?? -1) >= 0)
  const largest = named.sort((a, b) => (areas[b]?.r ?? 0) - (areas[a]?.r ?? 0))
  const spans: HTMLElement[] = []
  const place = () => {
    const { width, height } = sigma.getDimensions()
    const taken: { readonly x: number; readonly y: number; readonly half: number }[] = []
    for (const at of largest) {
      const area = areas[at]
      // Dots with room for names have those of their areas, too.
      if (!area || taken.length === most || areInside()) break
      const middle = sigma.graphToViewport({ x: area.x, y: -area.y })
      const r = Math.abs(sigma.graphToViewport({ x: area.x + area.r, y: -area.y }).x - middle.x)
      const { x, y } = r < 0.5 * Math.max(width, height) ? middle : sigma.graphToViewport(dotOf(area))
      if (r < pixels.radius) break
      const name = nameOfArea(area, areas)
      const whole = (Math.min(name.length, 28) * pixels.letter) / 2
      // A name that is much wider than its disk tells nothing of it; those of the parts always stand, as wide as there is room.
      const isFitting = whole < 1.4 * r || parts.has(at)
      const half = Math.min(whole, Math.max(1.4 * r, pixels.least), x, width - x)
      const isSeen = x > 0 && y > 0 && x < width && y < height
      const isFree = taken.every(
        (other) => Math.abs(other.y - y) >= pixels.row || Math.abs(other.x - x) > other.half + half,
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
