/** Loads titles on demand: those of the area where the camera rests. Large maps have no titles. */

import type { MultiGraph } from 'graphology'
import type Sigma from 'sigma'
import type { Schemas } from '../../../spec/client/api.ts'
import * as limits from '../../base/limits.ts'
import type { Area } from './areas.ts'
import { fetchJson } from './fetch.ts'

/** `rest`: milliseconds without movement. `mostNodes`: of an area. `share`: smallest disk relative to the window. */
const rest = 400
const share = 0.3

export function loadTitles(
  sigma: Sigma,
  graph: MultiGraph,
  places: ReadonlyMap<string, string>,
  areas: readonly Area[],
): void {
  const known = new Set<Area>()
  let timer: ReturnType<typeof setTimeout> | undefined

  const load = async () => {
    const { width, height } = sigma.getDimensions()
    const middle = sigma.viewportToGraph({ x: width / 2, y: height / 2 })
    const seen = Math.abs(sigma.viewportToGraph({ x: width, y: 0 }).x - sigma.viewportToGraph({ x: 0, y: 0 }).x) / 2
    const around = areas.find(
      ({ node_id, nodes, x, y, r }) =>
        node_id !== undefined &&
        nodes <= limits.mapTitles &&
        r > share * seen &&
        Math.hypot(middle.x - x, middle.y + y) < r,
    )
    if (!around || known.has(around)) return
    known.add(around)
    const part = await fetchJson<Schemas['GraphMap']>(`map?under=${around.node_id}`)
    for (const [at, id] of part?.ids.entries() ?? []) {
      const node = places.get(id)
      if (node !== undefined) graph.setNodeAttribute(node, 'label', part?.titles[at])
    }
  }
  sigma.getCamera().on('updated', () => {
    clearTimeout(timer)
    timer = setTimeout(load, rest)
  })
}
