/** Stretches the map of the service so that it fills the canvas. Dots stay round, and do not meet. */

import type { Schemas } from '../../../spec/client/api.ts'
import type { Box } from './map-camera.ts'

export type GraphMap = Schemas['GraphMap']

/** A map whose places are stretched. A disk of radius r is an ellipse of `r * x` and `r * y`. */
export interface Stretched {
  readonly map: GraphMap
  readonly x: number
  readonly y: number
}

/** The most that a map is stretched. */
const mostStretch = 2
/** Pixels when the map opens: the largest radius of a dot, and the margin. */
const opening = { radius: 44, margin: 36 } as const

export function stretch(map: GraphMap, { width, height }: { readonly width: number; readonly height: number }) {
  const { left, right, top, bottom } = extentOf(map)
  const [wide, high] = [width - 2 * opening.margin, height - 2 * opening.margin]
  const scale = Math.min(wide / (right - left), high / (bottom - top), scaleOf(map))
  const ratio = (length: number, room: number) => Math.min(Math.max(room / (length * scale), 1), mostStretch)
  const [x, y] = [ratio(right - left, wide), ratio(bottom - top, high)]
  const areas = map.areas.map((area) => ({ ...area, x: area.x * x, y: area.y * y }))
  const places = { x: map.x.map((place) => place * x), y: map.y.map((place) => place * y) }
  return { map: { ...map, ...places, areas }, x, y } satisfies Stretched
}

/** The box around all dots. */
function extentOf({ x, y, weight }: Pick<GraphMap, 'x' | 'y' | 'weight'>): Box {
  const box = { left: Infinity, right: -Infinity, top: Infinity, bottom: -Infinity }
  for (const [at, size] of weight.entries()) {
    const [left, top] = [x[at] ?? 0, y[at] ?? 0]
    box.left = Math.min(box.left, left - size)
    box.right = Math.max(box.right, left + size)
    box.top = Math.min(box.top, top - size)
    box.bottom = Math.max(box.bottom, top + size)
  }
  return box
}

/** The largest scale when the map opens, so that no dot is too large. */
function scaleOf({ weight }: GraphMap): number {
  return opening.radius / weight.reduce((most, size) => Math.max(most, size), 1)
}

/** Returns the arguments of `Camera.fit` that show the whole map. */
export function framed(map: GraphMap): readonly [Box, number, number] {
  return [extentOf(map), opening.margin, scaleOf(map)]
}
