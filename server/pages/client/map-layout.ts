/** Stretches the map of the service so that it fills the canvas. Dots stay round, and do not meet. */

import type { Schemas } from '../../../spec/client/api.ts'
import { fetchJson } from './fetch.ts'
import type { Box } from './map-camera.ts'

export type GraphMap = Schemas['GraphMap']

/** Fetches the map, or the part of a node. In large organisations, the page has a layout for each part. */
export function fetchMap(under: string, { dataset }: HTMLElement): Promise<GraphMap | undefined> {
  const layout = dataset.part === undefined ? '' : '&layout=part'
  return fetchJson<GraphMap>(`map${under && `?under=${under}${layout}`}`)
}

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
  const { left, right, top, bottom } = extentOf({ map, x: 1, y: 1 })
  const [wide, high] = [width - 2 * opening.margin, height - 2 * opening.margin]
  const scale = Math.min(wide / (right - left), high / (bottom - top), scaleOf(map))
  const ratio = (length: number, room: number) => Math.min(Math.max(room / (length * scale), 1), mostStretch)
  const [x, y] = [ratio(right - left, wide), ratio(bottom - top, high)]
  const areas = map.areas.map((area) => ({ ...area, x: area.x * x, y: area.y * y }))
  const places = { x: map.x.map((place) => place * x), y: map.y.map((place) => place * y) }
  return { map: { ...map, ...places, areas }, x, y } satisfies Stretched
}

/** The box around all dots, and the tinted disks of areas. */
function extentOf({ map, x, y }: Stretched): Box {
  const box = { left: Infinity, right: -Infinity, top: Infinity, bottom: -Infinity }
  const add = (left: number, top: number, wide: number, high: number) => {
    box.left = Math.min(box.left, left - wide)
    box.right = Math.max(box.right, left + wide)
    box.top = Math.min(box.top, top - high)
    box.bottom = Math.max(box.bottom, top + high)
  }
  for (const [at, size] of map.weight.entries()) add(map.x[at] ?? 0, map.y[at] ?? 0, size, size)
  for (const { node_id, within, r, ...at } of map.areas)
    if (node_id !== undefined && within < 0) add(at.x, at.y, r * x, r * y)
  return box
}

/** The largest scale when the map opens, so that no dot is too large. */
function scaleOf({ weight }: GraphMap): number {
  return opening.radius / weight.reduce((most, size) => Math.max(most, size), 1)
}

/** Returns the arguments of `Camera.fit` that show the whole map. */
export function framed(layout: Stretched): readonly [Box, number, number] {
  return [extentOf(layout), opening.margin, scaleOf(layout.map)]
}
