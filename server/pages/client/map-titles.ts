/** Loads titles on demand: those of the area where the camera rests. Large maps have no titles. */

import * as limits from '../../base/limits.ts'
import type { MapCanvas } from './map-canvas.ts'
import type { Dots } from './map-dots.ts'
import { fetchMap, type Stretched } from './map-layout.ts'

/** `rest`: milliseconds without movement. `share`: smallest disk relative to the window. */
const rest = 400
const share = 0.3

/** Returns a function to call after each drawing. */
export function loadTitles(canvas: MapCanvas, dots: Dots, { map, x, y }: Stretched, main: HTMLElement): () => void {
  const known = new Set<string>()
  let timer: ReturnType<typeof setTimeout> | undefined

  const load = async () => {
    const { camera } = canvas
    const seen = camera.width / camera.scale / 2
    const around = map.areas.find(
      (area) =>
        area.nodes <= limits.mapTitles &&
        area.r > share * seen &&
        Math.hypot((camera.x - area.x) / x, (camera.y - area.y) / y) < area.r,
    )?.node_id
    if (around === undefined || known.has(around)) return
    known.add(around)
    const part = await fetchMap(around, main)
    for (const [at, id] of part?.ids.entries() ?? []) {
      const node = dots.places.get(id)
      if (node !== undefined) dots.labels[node] = part?.titles[at] ?? ''
    }
    canvas.redraw()
  }
  return () => {
    clearTimeout(timer)
    timer = setTimeout(load, rest)
  }
}
